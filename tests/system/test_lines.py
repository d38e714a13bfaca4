"""Law 10: N lines in = N lines out, in order, whatever they hold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from system import toys
from system.commands import Result, weft
from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.config.registry import REGISTRY
from weft.inference.translation_io import write_translations
from weft.inference.translator import Translator
from weft.models.build import build_model
from weft.text.text_config import codec_trainers
from weft.text.tokenizer_training import TokenizerTrainer

LEARNED_FROM = ["the red cat sees a dog", "this old house has a river", "the red cat sees this house"]
LIMIT = 12  # pieces that the model reads
LONG = " ".join(["cat"] * 40)
WILD = [
    "the red cat sees a dog",
    "",
    " ",
    " \t\u3000 ",
    LONG,
    "x" * 2000,
    "\x00",
    "a\x00b\x01\x02\x1b[31m\x7f",
    "\x1c",
    "Щука съела ежа",
    "ქართული ไทย 中文 עברית",
    "e\u0301 \u0301 \u200d \u200b",
    "🐈‍⬛ 👩🏽‍🚀 \U0010ffff",
    "a\u2028b\u2029c",
    "\u2028",
    "a\x85b",
    "a\rb",
    "a\x0bb\x0cc",
    "<pad>",
    "<begin> the <end> <unk> </s> <0x0A>",
    "\ufeffthe",
    "the red cat sees a dog",
]


def translator(learner: str = "bpe", family: str = "transformer") -> Translator:
    """A model with its first weights, in double precision: what is equal there is equal to the last letter."""
    recipe = load_recipe(
        {
            "data": {"max_length": LIMIT},
            "text": {"source": {"type": learner, **({"min_frequency": 1} if learner != "byte" else {})}},
            "model": toys.FAMILIES[family],
            "translate": {"search": "greedy", "max_length_factor": 0.5, "max_length_extra": 3},
        }
    )
    _, kind = codec_trainers(recipe.text)
    tokenizer = kind.train(LEARNED_FROM)
    torch.manual_seed(2)
    model = build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)  # livelier than fresh weights, so that different lines become different lines
    return Translator(
        TrainedModel(model, tokenizer, tokenizer, recipe, {}), recipe.translate.search(), recipe.translate
    )


@pytest.fixture(scope="module")
def bytewise() -> Translator:
    return translator("byte")


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("untrained") / "model"
    trained = translator().trained
    trained.model.float()
    save_model(folder, trained, model_weights(trained.model))
    return folder


@pytest.mark.parametrize("learner", REGISTRY[TokenizerTrainer])
def test_every_line_becomes_one_line(learner: str) -> None:
    kept = translator(learner)
    translations = kept.translate(WILD)
    assert [translation.source for translation in translations] == WILD
    assert not any("\n" in translation.text for translation in translations)
    assert all(translation.text == "" for translation in translations if not translation.source.strip())
    pieces = kept.trained.target_tokenizer.encode(WILD)
    assert [translation.truncated for translation in translations] == [
        len(row) > LIMIT and line.strip() != "" for row, line in zip(pieces, WILD, strict=True)
    ]
    assert translations[4].truncated
    assert len({translation.text for translation in translations}) > 5


@pytest.mark.parametrize("family", toys.FAMILIES)
def test_neighbours_and_batches_change_nothing(family: str) -> None:
    kept = translator(family=family)
    together = kept.translate(WILD)
    assert together[0].text == together[-1].text
    assert together[0].score == pytest.approx(together[-1].score, abs=1e-9)
    assert [kept.translate([line])[0].text for line in WILD] == [translation.text for translation in together]
    for changed in ({"batch_tokens": 1}, {"batch_tokens": 30}, {"buffer_size": 1}, {"buffer_size": 5}):
        other = replace(kept, settings=replace(kept.settings, **changed))  # type: ignore[arg-type]
        assert [translation.text for translation in other.translate(WILD)] == [one.text for one in together]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_text_from_python(bytewise: Translator, lines: list[str]) -> None:
    translations = bytewise.translate(lines)
    assert [translation.source for translation in translations] == lines
    assert not any("\n" in translation.text for translation in translations)


@settings(deadline=None, max_examples=40)
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20), max_size=6))
def test_any_text_from_a_file(bytewise: Translator, tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("lines")
    source, output = folder / "in.txt", folder / "out.txt"
    source.write_bytes("".join(line + "\n" for line in lines).encode())
    write_translations(bytewise, source, output, as_json=False)
    assert output.read_bytes().count(b"\n") == len(lines)


def test_a_model_that_wants_to_end_lines_does_not(tmp_path: Path) -> None:
    kept = translator("byte")
    (line_end,) = kept.trained.target_tokenizer.encode(["\n"])[0]
    assert kept.trained.model.head.bias is not None
    kept.trained.model.head.bias.data[line_end] = 1e6
    (tmp_path / "in.txt").write_bytes(b"one\ntwo\n")
    write_translations(kept, tmp_path / "in.txt", tmp_path / "out.txt", as_json=False)
    first, second, rest = (tmp_path / "out.txt").read_bytes().split(b"\n")
    assert set(first + second) == set(b" ")
    assert rest == b""


def test_paragraphs_keep_the_lines_too(bytewise: Translator) -> None:
    for language in ("en", "fr", "zh"):
        text = bytewise.translate_text("\n".join(WILD), language)
        assert text.count("\n") == len(WILD) - 1
        assert bytewise.translate_text(text + " ", language).endswith(" ")


def test_a_line_of_one_sentence_is_translated_as_ever(bytewise: Translator) -> None:
    assert bytewise.translate_text("\n".join(LEARNED_FROM)).split("\n") == [
        translation.text for translation in bytewise.translate(LEARNED_FROM)
    ]


def test_the_command_translates_paragraphs(model_folder: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(f"  - The cat.  The dog. \n\n> The cat.\r\n{LONG}. The dog.".encode())
    cat, dog = (weft("translate", model_folder, stdin=line).lines[0] for line in (b"The cat.", b"The dog."))
    result = weft("translate", model_folder, source, "--paragraphs")
    first, *others = result.lines
    assert (result.code, first, others[:2]) == (0, f"  - {cat}  {dog} ", ["", f"> {cat}"])
    assert result.err == f"weft: sentences longer than {LIMIT} tokens were truncated, in 1 line: 4\n"
    assert weft("translate", model_folder, "--paragraphs", "--language", "en-GB", stdin=source.read_bytes()) == result
    assert weft("translate", model_folder, source, "--paragraphs", "--output", output).err == result.err
    assert output.read_bytes() == result.out


def test_paragraphs_as_json(model_folder: Path) -> None:
    content = b"  - The cat.  The dog. \n\n"
    rows = [json.loads(line) for line in weft("translate", model_folder, "--paragraphs", "--json", stdin=content).lines]
    plain = [
        json.loads(line) for line in weft("translate", model_folder, "--json", stdin=b"The cat.\nThe dog.\n").lines
    ]
    assert [row["source"] for row in rows] == ["  - The cat.  The dog. ", ""]
    assert [row["text"] for row in rows] == weft("translate", model_folder, "--paragraphs", stdin=content).lines
    assert [[one["text"] for one in row["sentences"]] for row in rows] == [[one["text"] for one in plain], []]
    assert all(row.keys() == {"source", "text", "sentences"} for row in rows)
    assert all(one.keys() == plain[0].keys() for one in rows[0]["sentences"])


def told(result: Result) -> tuple[int, int, str]:
    return result.code, len(result.lines), result.err


def test_the_command_keeps_the_lines_and_tells_which_were_cut(model_folder: Path, tmp_path: Path) -> None:
    content = "\n".join(WILD).encode()  # no line end after the last
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(content)
    from_file = weft("translate", model_folder, source)
    assert (from_file.code, len(from_file.lines)) == (0, len(WILD))
    numbers = from_file.err.removesuffix("\n").rpartition(": ")[2].split(", ")
    assert {"5", "6"} <= set(numbers)
    assert from_file.err.startswith(f"weft: {len(numbers)} lines were longer than {LIMIT} tokens and were truncated: ")
    assert weft("translate", model_folder, stdin=content) == from_file
    assert weft("translate", model_folder, stdin=content + b"\n") == from_file
    assert weft("translate", model_folder, source, "--output", output).err == from_file.err
    assert output.read_bytes() == from_file.out
    assert weft("evaluate", model_folder, source, source, "--metric", "exact").err == from_file.err


def test_the_ends_of_lines_and_of_files(model_folder: Path, tmp_path: Path) -> None:
    plain = weft("translate", model_folder, stdin=b"the cat\nthe dog\n")
    assert len(plain.lines) == 2
    source = tmp_path / "in.txt"
    for content in (b"the cat\r\nthe dog\r\n", b"the cat\nthe dog", b"\xef\xbb\xbfthe cat\nthe dog\n"):
        source.write_bytes(content)
        assert weft("translate", model_folder, stdin=content) == plain
        assert weft("translate", model_folder, source) == plain
    assert told(weft("translate", model_folder, stdin=b"")) == (0, 0, "")
    assert told(weft("translate", model_folder, stdin=b"\n")) == (0, 1, "")
    assert told(weft("translate", model_folder, stdin=b"\n\n \n")) == (0, 3, "")
