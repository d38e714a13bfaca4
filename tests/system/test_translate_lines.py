"""Law 10: N input lines give N output lines, in order, whatever their content."""

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
from weft.inference.translation_io import read_input_lines, write_translations
from weft.inference.translator import Translator
from weft.models.build import build_model
from weft.text.text_config import codec_trainers
from weft.text.tokenizer_training import TokenizerTrainer

TRAINING_LINES = ["the red cat sees a dog", "this old house has a river", "the red cat sees this house"]
LIMIT = 12  # max_length of the model, in tokens
LONG = " ".join(["cat"] * 40)
UNUSUAL_LINES = [
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


def translator(tokenizer_type: str = "bpe", family: str = "transformer") -> Translator:
    """An untrained model in double precision, so that equal translations are equal exactly."""
    recipe = load_recipe(
        {
            "data": {"max_length": LIMIT},
            "text": {"source": {"type": tokenizer_type, **({"min_frequency": 1} if tokenizer_type != "byte" else {})}},
            "model": toys.FAMILIES[family],
            "translate": {"search": "greedy", "max_length_factor": 0.5, "max_length_extra": 3},
        }
    )
    _, trainer = codec_trainers(recipe.text)
    tokenizer = trainer.train(TRAINING_LINES)
    torch.manual_seed(2)
    model = build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)  # larger weights, so that different inputs give different outputs
    return Translator(
        TrainedModel(model, tokenizer, tokenizer, recipe, {}), recipe.translate.search(), recipe.translate
    )


@pytest.fixture(scope="module")
def byte_translator() -> Translator:
    return translator("byte")


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("untrained") / "model"
    trained = translator().trained
    trained.model.float()
    save_model(folder, trained, model_weights(trained.model))
    return folder


@pytest.mark.parametrize("tokenizer_type", REGISTRY[TokenizerTrainer])
def test_every_line_gives_exactly_one_line(tokenizer_type: str) -> None:
    model = translator(tokenizer_type)
    translations = model.translate(UNUSUAL_LINES, split=False)
    assert [translation.source for translation in translations] == UNUSUAL_LINES
    assert not any("\n" in translation.text for translation in translations)
    assert all(translation.text == "" for translation in translations if not translation.source.strip())
    tokens = model.trained.target_tokenizer.encode(UNUSUAL_LINES)
    assert [translation.truncated for translation in translations] == [
        len(row) > LIMIT and line.strip() != "" for row, line in zip(tokens, UNUSUAL_LINES, strict=True)
    ]
    assert translations[4].truncated
    assert len({translation.text for translation in translations}) > 5


@pytest.mark.parametrize("family", toys.FAMILIES)
def test_translation_does_not_depend_on_the_batch(family: str) -> None:
    model = translator(family=family)
    translations = model.translate(UNUSUAL_LINES, split=False)
    texts = [translation.text for translation in translations]
    assert texts[0] == texts[-1]
    assert translations[0].score == pytest.approx(translations[-1].score, abs=1e-9)
    assert [model.translate(line, split=False).text for line in UNUSUAL_LINES] == texts
    for changed in ({"batch_tokens": 1}, {"batch_tokens": 30}, {"buffer_size": 1}, {"buffer_size": 5}):
        other = replace(model, settings=replace(model.settings, **changed))  # type: ignore[arg-type]
        assert [translation.text for translation in other.translate(UNUSUAL_LINES, split=False)] == texts


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_text_is_translated_in_python(byte_translator: Translator, lines: list[str]) -> None:
    assert [translation.source for translation in byte_translator.translate(lines)] == lines
    translations = byte_translator.translate(lines, split=False)
    assert [translation.source for translation in translations] == lines
    assert not any("\n" in translation.text for translation in translations)


@settings(deadline=None, max_examples=40)
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20), max_size=6))
def test_any_text_is_translated_from_a_file(
    byte_translator: Translator, tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    source, output = folder / "in.txt", folder / "out.txt"
    source.write_bytes("".join(line + "\n" for line in lines).encode())
    write_translations(byte_translator.for_text(), read_input_lines(source), output, as_json=False)
    assert output.read_bytes().count(b"\n") == len(lines)


def test_predicted_newline_does_not_end_a_line(tmp_path: Path) -> None:
    model = translator("byte")
    (newline,) = model.trained.target_tokenizer.encode(["\n"])[0]
    assert model.trained.model.head.bias is not None
    model.trained.model.head.bias.data[newline] = 1e6
    (tmp_path / "in.txt").write_bytes(b"one\ntwo\n")
    write_translations(model.for_text(), read_input_lines(tmp_path / "in.txt"), tmp_path / "out.txt", as_json=False)
    first, second, rest = (tmp_path / "out.txt").read_bytes().split(b"\n")
    assert set(first + second) == set(b" ")
    assert rest == b""


def test_text_keeps_the_number_of_lines(byte_translator: Translator) -> None:
    for language in ("en", "fr", "zh"):
        text = byte_translator.translate_text("\n".join(UNUSUAL_LINES), language)
        assert text.count("\n") == len(UNUSUAL_LINES) - 1
        assert byte_translator.translate_text(text + " ", language).endswith(" ")


def test_line_of_a_single_sentence_is_translated_as_without_splitting(byte_translator: Translator) -> None:
    assert byte_translator.translate_text("\n".join(TRAINING_LINES)).split("\n") == [
        translation.text for translation in byte_translator.translate(TRAINING_LINES, split=False)
    ]


def test_command_splits_lines_into_sentences(model_folder: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(f"  - The cat.  The dog. \n\n> The cat.\r\n{LONG}. The dog.".encode())
    cat, dog = (weft("translate", model_folder, stdin=line).lines[0] for line in (b"The cat.", b"The dog."))
    result = weft("translate", model_folder, source)
    first, *others = result.lines
    assert (result.code, first, others[:2]) == (0, f"  - {cat}  {dog} ", ["", f"> {cat}"])
    assert result.err == f"weft: sources longer than {LIMIT} tokens were truncated, in 1 line: 4\n"
    assert weft("translate", model_folder, "--language", "en-GB", stdin=source.read_bytes()) == result
    assert weft("translate", model_folder, source, "--output", output).err == result.err
    assert output.read_bytes() == result.out


def test_sentences_are_printed_as_json(model_folder: Path) -> None:
    content = b"  - The cat.  The dog. \n\n"
    rows = [json.loads(line) for line in weft("translate", model_folder, "--json", stdin=content).lines]
    plain = [
        json.loads(line) for line in weft("translate", model_folder, "--json", stdin=b"The cat.\nThe dog.\n").lines
    ]
    assert [row["source"] for row in rows] == ["  - The cat.  The dog. ", ""]
    assert [row["text"] for row in rows] == weft("translate", model_folder, stdin=content).lines
    assert [sentence["text"] for sentence in rows[0]["sentences"]] == [record["text"] for record in plain]
    assert rows[0].keys() == {*plain[0].keys(), "sentences"}
    assert rows[1].keys() <= plain[0].keys()
    assert all(sentence.keys() == plain[0].keys() for sentence in rows[0]["sentences"])


def test_argument_may_be_a_text(model_folder: Path, tmp_path: Path) -> None:
    text = "The cat. The dog."
    expected = weft("translate", model_folder, stdin=text.encode())
    assert weft("translate", model_folder, text) == weft("translate", model_folder, "--text", text) == expected
    (tmp_path / text).write_text("The dog.\n", "utf-8")
    assert weft("translate", model_folder, tmp_path / text) == weft("translate", model_folder, stdin=b"The dog.\n")
    assert len(weft("translate", model_folder, "--text", "").lines) == 1
    for missing in ("none.txt", "my none.txt", "folder/my file", "word"):
        result = weft("translate", model_folder, missing)
        assert (result.code, "there is no such file" in result.err) == (2, True)


def summary(result: Result) -> tuple[int, int, str]:
    return result.code, len(result.lines), result.err


def test_command_keeps_the_lines_and_reports_the_truncated(model_folder: Path, tmp_path: Path) -> None:
    content = "\n".join(UNUSUAL_LINES).encode()  # no newline after the last line
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(content)
    from_file = weft("translate", model_folder, "--no-split", "--format", "text", source)
    assert (from_file.code, len(from_file.lines)) == (0, len(UNUSUAL_LINES))
    numbers = from_file.err.removesuffix("\n").rpartition(": ")[2].split(", ")
    assert {"5", "6"} <= set(numbers)
    assert from_file.err.startswith(
        f"weft: sources longer than {LIMIT} tokens were truncated, in {len(numbers)} lines: "
    )
    assert weft("translate", model_folder, "--no-split", stdin=content) == from_file
    assert weft("translate", model_folder, "--no-split", stdin=content + b"\n") == from_file
    assert (
        weft("translate", model_folder, "--no-split", "--format", "text", source, "--output", output).err
        == from_file.err
    )
    assert output.read_bytes() == from_file.out
    assert weft("evaluate", model_folder, source, source, "--metric", "exact").err == from_file.err


def test_line_endings_and_end_of_file(model_folder: Path, tmp_path: Path) -> None:
    plain = weft("translate", model_folder, stdin=b"the cat\nthe dog\n")
    assert len(plain.lines) == 2
    source = tmp_path / "in.txt"
    for content in (b"the cat\r\nthe dog\r\n", b"the cat\nthe dog", b"\xef\xbb\xbfthe cat\nthe dog\n"):
        source.write_bytes(content)
        assert weft("translate", model_folder, stdin=content) == plain
        assert weft("translate", model_folder, source) == plain
    assert summary(weft("translate", model_folder, stdin=b"")) == (0, 0, "")
    assert summary(weft("translate", model_folder, stdin=b"\n")) == (0, 1, "")
    assert summary(weft("translate", model_folder, stdin=b"\n\n \n")) == (0, 3, "")
