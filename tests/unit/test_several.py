"""Several models that translate as one, and a language model beside them."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import weft
from unit.models import BAHDANAU, CTC, FAMILIES, JOINT, LANGUAGE, SUTSKEVER, TRANSFORMER, letters, saved, untrained
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.translate import parse_ensemble
from weft.config.model_config import FusionConfig
from weft.core.codec import BOS, EOS
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, StepFunction
from weft.data.batches import pad_rows
from weft.data.image_codec import ImageCodec
from weft.decoding.beam import BeamSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.fusion import (
    CombineLogProbs,
    WeightedStep,
    combine_steps,
    join_states,
    mean_log_probabilities,
    mean_probabilities,
    split_states,
    weighted_sum,
)
from weft.decoding.greedy import GreedySearch
from weft.inference.capabilities import check_ensemble_member
from weft.inference.ensemble import (
    Ensemble,
    EnsembleOptions,
    FusedLanguageModel,
    ensemble_weights,
    language_model_steps,
    load_fused_language_model,
)
from weft.inference.loader import load_translator
from weft.inference.postprocessor import OutputOptions
from weft.inference.translation import Translation
from weft.inference.translator import Translator
from weft.text.tokenizer_training import ByteTokenizerTrainer, WhitespaceTokenizerTrainer

LINES = ["abc", "e", "", "deadbeef", "cab", "a bad cafe", "bb"]


def translator(first: TrainedModel, *others: TrainedModel, search: Any = None, **beside: Any) -> Translator:
    weights = beside.pop("weights", (1.0,) * (1 + len(others)))
    joined = Ensemble(others, weights, **beside)
    return Translator(first, search or BeamSearch(size=3, n_best=2), first.recipe.translate, ensemble=joined)


def outputs(translations: list[Translation]) -> list[list[tuple[str, ...]]]:
    return [[one.tokens for one in translation.alternatives] for translation in translations]


def scores(translations: list[Translation]) -> list[float]:
    return [one.score for translation in translations for one in translation.alternatives]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mean", ["probabilities", "log-probabilities"])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.2, 3.0, 1.7)])
def test_a_model_with_itself_is_the_model(family: str, mean: Any, weights: tuple[float, ...]) -> None:
    model = untrained(FAMILIES[family])
    alone = translator(model).translate(LINES)
    joined = translator(model, model, model, weights=weights, mean=mean).translate(LINES)
    assert outputs(joined) == outputs(alone)
    assert scores(joined) == pytest.approx(scores(alone), abs=1e-6)


@pytest.mark.parametrize("mean", ["probabilities", "log-probabilities"])
def test_each_reads_with_its_own_tokenizer_whatever_the_batch(mean: Any) -> None:
    models = [
        untrained(TRANSFORMER, 1),
        untrained(BAHDANAU, 2, source=letters(ByteTokenizerTrainer())),
        untrained(JOINT, 3),
    ]
    whole = translator(*models, mean=mean)
    alone = replace(whole, settings=replace(whole.settings, batch_tokens=1, buffer_size=1))
    assert outputs(whole.translate(LINES)) == outputs(alone.translate(LINES))
    assert_close(scores(whole.translate(LINES)), scores(alone.translate(LINES)), rtol=0, atol=1e-9)
    assert outputs(whole.translate(LINES)) != outputs(translator(models[0]).translate(LINES))


@torch.no_grad()
def said(model: TrainedModel, line: str, target: list[int]) -> torch.Tensor:
    """p of every token at every step [T,V]."""
    source = pad_rows(model.source_tokenizer.encode_rows([line]).split())
    state, rows = model.model.start(model.model.encode(source)), []
    for token in [BOS, *target]:
        scores, state = model.model.step(torch.tensor([token]), state)
        rows.append(scores.log_probs[0].exp())
    return torch.stack(rows)


@torch.no_grad()
@pytest.mark.parametrize("mix", [mean_probabilities, mean_log_probabilities])
def test_a_mean_is_what_its_name_says(mix: CombineLogProbs) -> None:
    models, weights, target = [untrained(TRANSFORMER, 1), untrained(SUTSKEVER, 2)], (1.0, 3.0), [4, 5, 7]
    source = pad_rows(models[0].source_tokenizer.encode_rows(["abc"]).split())
    parts = [WeightedStep(one.model.step, weight) for one, weight in zip(models, weights, strict=True)]
    state = join_states(*(one.model.start(one.model.encode(source)) for one in models))
    [found] = forced_scores(combine_steps(parts, mix), state, Padded.from_rows([[*target, EOS]]))
    first, second = (said(one, "abc", target) for one in models)
    if mix is mean_probabilities:
        wanted = 0.25 * first + 0.75 * second
    else:
        wanted = first**0.25 * second**0.75
        wanted = wanted / wanted.sum(-1, keepdim=True)
    token_scores = [math.log(wanted[step, token]) for step, token in enumerate([*target, EOS])]
    assert found.token_scores == pytest.approx(token_scores)


def test_a_sum_passes_over_what_has_no_weight() -> None:
    never = torch.tensor([[-math.inf, -1.0]])
    assert_close(weighted_sum([torch.tensor([[-2.0, -3.0]]), never], [1.0, 0.0]), torch.tensor([[-2.0, -3.0]]))
    assert_close(mean_probabilities([never, never], [1.0, 2.0]), never)


@pytest.mark.parametrize("mix", [weighted_sum, mean_probabilities, mean_log_probabilities])
def test_a_row_in_which_nothing_can_be_stays_one(mix: CombineLogProbs) -> None:
    nothing = torch.full((1, 3), -math.inf)
    assert torch.equal(
        mix([nothing, torch.tensor([[-1.0, -2.0, -math.inf]])], [1.0, 1.0]).isnan().any(), torch.tensor(False)
    )
    assert torch.equal(mix([nothing, nothing], [1.0, 3.0]), nothing)


def test_alternatives_are_given_by_the_search_that_is_set(folders: dict[str, Path]) -> None:
    sampling = ["translate.search=sampling"]
    [one] = load_translator(folders["transformer"], n_best=4, overrides=sampling).translate(["abc"])
    assert len(one.alternatives) == 4
    with pytest.raises(
        UserError, match=r"--beam 3: but --set makes translate.search sampling, which has no beam: omit"
    ):
        load_translator(folders["transformer"], beam=3, overrides=sampling)
    with pytest.raises(
        UserError, match=r"--n-best 2: but --set makes translate.search greedy, which has one output: omit"
    ):
        load_translator(folders["transformer"], n_best=2, overrides=["translate.search=greedy"])
    with pytest.raises(
        UserError, match=r"min_length_factor: is 3, but translate.max_length_factor 1: the minimum length"
    ):
        load_translator(folders["transformer"], overrides=["translate.min_length_factor=3"])
    found = load_translator(folders["transformer"], beam=3, overrides=["translate.search.length_penalty=gnmt"])
    assert len(found.translate(["abc"])[0].alternatives) == 1


@torch.no_grad()
def test_attention_is_the_mean_of_those_who_look_at_the_same() -> None:
    models = [untrained(BAHDANAU, 1), untrained(TRANSFORMER, 2), untrained(SUTSKEVER, 3)]
    source = Padded.from_rows([[3, 4, 5, EOS]])
    starts = [one.model.start(one.model.encode(source)) for one in models]
    begin = torch.tensor([BOS])
    looks = [one.model.step(begin, start)[0].attention for one, start in zip(models, starts, strict=True)]
    assert looks[0] is not None
    assert looks[1] is not None
    assert looks[2] is None

    def looked(*parts: WeightedStep) -> torch.Tensor | None:
        chosen = [next(n for n, one in enumerate(models) if one.model.step == part.step) for part in parts]
        scores, state = combine_steps(parts, mean_probabilities)(
            begin, join_states(*(starts[number] for number in chosen))
        )
        assert len(split_states(state)) == len(parts)
        return scores.attention

    first, second, third = (
        WeightedStep(one.model.step, weight, True) for one, weight in zip(models, (1, 3, 5), strict=True)
    )
    assert_close(looked(first, second, third), looks[0] / 4 + 3 * looks[1] / 4)
    assert_close(looked(first, second._replace(same_positions=False)), looks[0])
    assert looked(third, first) is None


def test_attention_does_not_depend_on_the_batch() -> None:
    """Of models that read lines of different lengths, only the first one's attention counts, cut or not."""
    first, other = untrained(BAHDANAU, 1), untrained(TRANSFORMER, 2)
    short = other._replace(recipe=replace(other.recipe, data=replace(other.recipe.data, max_length=3)))
    looking = replace(translator(first, short, search=GreedySearch()), output_options=OutputOptions(attention=True))
    together, alone = looking.translate(["abcde", "ab"])[1], looking.translate(["x", "ab"])[1]
    assert together.attention is not None
    assert alone.attention is not None
    assert_close(torch.tensor(together.attention.weights), torch.tensor(alone.attention.weights))


def fused(model: TrainedModel, language: TrainedModel, weight: float) -> FusedLanguageModel:
    numbers = torch.arange(model.target_tokenizer.size)
    return FusedLanguageModel(language_model_steps(language.model, numbers), weight, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_language_model_is_added_with_its_weight(family: str) -> None:
    model, language = untrained(FAMILIES[family], 1), untrained(LANGUAGE, 7)
    steered = translator(model, fused=fused(model, language, 0.4), search=GreedySearch())
    for line, translation in zip(LINES, steered.translate(LINES), strict=True):
        if not line:
            continue
        [one] = translation.alternatives
        tokens = [model.target_tokenizer.vocabulary().index(piece) for piece in one.tokens[:-1]]
        ours, theirs = said(model, line, tokens).log(), said(language, "", tokens).log()
        wanted = [float(ours[n, t] + 0.4 * theirs[n, t]) for n, t in enumerate([*tokens, EOS])]
        assert one.token_scores == pytest.approx(wanted)
    alone = translator(model, search=GreedySearch()).translate(LINES)
    assert outputs(steered.translate(LINES)) != outputs(alone)


def test_a_language_model_without_weight_changes_nothing() -> None:
    model, language = untrained(TRANSFORMER, 1), untrained(LANGUAGE, 7)
    assert load_fused_language_model(model, FusionConfig(model="nowhere", weight=0.0)) is None
    silent = translator(model, fused=fused(model, language, 0.0)).translate(LINES)
    assert outputs(silent) == outputs(translator(model).translate(LINES))
    assert scores(silent) == pytest.approx(scores(translator(model).translate(LINES)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    models = {
        "transformer": untrained(TRANSFORMER, 1),
        "recurrent": untrained(BAHDANAU, 2, source=letters(ByteTokenizerTrainer())),
        "language": untrained(LANGUAGE, 3),
        "ctc": untrained(CTC, 4),
        "bytes": untrained(TRANSFORMER, 5, target=letters(ByteTokenizerTrainer())),
        "symbols": untrained(TRANSFORMER, 5, target=WhitespaceTokenizerTrainer().train(["v w x y z"])),
        "backward": untrained(TRANSFORMER, 6, target=letters().reversed()),
        "language-backward": untrained(LANGUAGE, 6, target=letters().reversed()),
        "short": untrained(TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 16}}}, 7),
    }
    return {name: saved(folder / name, model) for name, model in models.items()}


def test_models_are_loaded_from_folders(folders: dict[str, Path]) -> None:
    first, second = folders["transformer"], folders["recurrent"]
    loaded = weft.load([first, second], weights=[1, 2], mean="log-probabilities", n_best=2)
    assert loaded.ensemble.weights == (1, 2)
    assert outputs(loaded.translate(LINES)) != outputs(weft.load(first, n_best=2).translate(LINES))
    itself = weft.load([first, first], beam=4, n_best=2).translate(LINES)
    alone = weft.load([first], beam=4, n_best=2).translate(LINES)
    assert outputs(itself) == outputs(alone)
    assert scores(itself) == pytest.approx(scores(alone), abs=1e-5)


def test_a_language_model_is_loaded_from_a_setting(folders: dict[str, Path]) -> None:
    setting = f"translate.fusion.model={folders['language']}"
    steered = load_translator(folders["transformer"], overrides=[setting])
    assert steered.ensemble.fused is not None
    assert steered.ensemble.fused.weight == 0.2
    assert scores(steered.translate(LINES)) != scores(weft.load(folders["transformer"]).translate(LINES))
    silent = load_translator(folders["transformer"], overrides=[setting, "translate.fusion.weight=0"])
    assert silent.translate(LINES) == weft.load(folders["transformer"]).translate(LINES)


def test_the_shortest_positions_end_an_output(folders: dict[str, Path]) -> None:
    settings, limits = ["translate.max_length_factor=9"], []

    class Searched(GreedySearch):
        def __call__(
            self, step: StepFunction, state: State, limit: torch.Tensor, lines: torch.Tensor
        ) -> list[list[Hypothesis]]:
            limits.append(limit.tolist())
            return super().__call__(step, state, limit, lines)

    for ensemble in (None, EnsembleOptions((folders["short"],))):
        loaded = load_translator(folders["transformer"], overrides=settings, ensemble=ensemble)
        replace(loaded, search=Searched()).translate(["abcde"])
    assert limits == [[9 * 6 + 3], [15]]


def test_a_line_that_another_model_cuts_is_cut(folders: dict[str, Path]) -> None:
    [one] = weft.load([folders["transformer"], folders["recurrent"]]).translate(["ä" * 7])  # 14 bytes, 12 at most
    assert one.truncated
    assert not weft.load(folders["transformer"]).translate(["ä" * 7])[0].truncated


MISTAKES = [
    (["transformer", "language"], "is a language model, which reads no source, so it cannot be part of an ensemble"),
    (["transformer", "ctc"], "ctc has no decoder, so it has no steps that an ensemble could average"),
    (["ctc", "transformer"], "the first model has no decoder"),
    (["transformer", "bytes"], "does not have the target tokens of the first model (259 tokens there, 9 here)"),
    (["transformer", "symbols"], "5 of 9 differ, such as number 4: 'v' there, 'a' here"),
    (["transformer", "backward"], "(it generates them backward, the first model forward), so their steps cannot be"),
    (["transformer", "nowhere"], "nowhere: there is no such folder. Give a run folder or a model folder."),
    (["language", "transformer"], "is a language model, which reads no source. To complete a text"),
]


@pytest.mark.parametrize(("names", "told"), MISTAKES)
def test_models_that_cannot_be_joined_are_told(folders: dict[str, Path], names: list[str], told: str) -> None:
    paths = [folders.get(name, Path("nowhere")) for name in names]
    with pytest.raises(UserError, match=re.escape(told)):
        weft.load(paths)


def test_a_picture_model_cannot_join_a_text_model() -> None:
    text, other = untrained(TRANSFORMER), untrained(TRANSFORMER, 2)
    pictures = other._replace(source_tokenizer=ImageCodec(height=8, invert=False))
    with pytest.raises(
        UserError, match="x reads image, but the first model text: an ensemble must read the same input"
    ):
        check_ensemble_member(text, pictures, Path("x"))


WEIGHTS: list[tuple[dict[str, Any], str]] = [
    ({"weights": (1.0,)}, "weights: got 1 number for 2 models: give one for each, in the order of the models"),
    ({"weights": (1.0, 0.0)}, "weights: got 1, 0: each should be positive"),
    ({"weights": (1.0, math.nan)}, "weights: got 1, nan: each should be positive"),
    ({"mean": "scores"}, "mean: got 'scores', expected one of probabilities, log-probabilities"),
]


@pytest.mark.parametrize(("wrong", "told"), WEIGHTS)
def test_weights_that_cannot_be_are_told(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        ensemble_weights(EnsembleOptions((Path("x"),), **wrong))


def test_options_become_an_ensemble() -> None:
    assert parse_ensemble(None, None, None) is None
    joined = parse_ensemble([Path("x"), Path("y")], "1,2,0.5", "log-probabilities")
    assert joined == EnsembleOptions((Path("x"), Path("y")), (1.0, 2.0, 0.5), "log-probabilities")
    assert parse_ensemble([Path("x")], None, None) == EnsembleOptions((Path("x"),), None, "probabilities")
    with pytest.raises(UserError, match="--weights needs several models: add --ensemble MODEL, or omit"):
        parse_ensemble(None, "1", None)
    with pytest.raises(UserError, match="--mean needs several models: add --ensemble MODEL, or omit"):
        parse_ensemble([], None, "probabilities")
    with pytest.raises(UserError, match="--weights 1;2: must be numbers separated by commas"):
        parse_ensemble([Path("x")], "1;2", None)


FUSIONS = [
    ("transformer", "transformer", "translate.fusion.model: ", "is not a language model. Train one with"),
    ("bytes", "language", "translate.fusion.model: the language model in ", "lacks 256 of the tokens"),
    ("transformer", "nowhere", "translate.fusion.model: nowhere: ", "there is no such folder"),
    (
        "transformer",
        "language-backward",
        "generates lines backward, but this model forward",
        "text.target_order: forward",
    ),
    ("ctc", "language", "translate.fusion: adds a language model to the steps of a decoder", "but this model has none"),
]


@pytest.mark.parametrize(("model", "language", "told", "why"), FUSIONS)
def test_a_language_model_that_cannot_be_added_is_told(
    folders: dict[str, Path], model: str, language: str, told: str, why: str
) -> None:
    named = folders.get(language, Path("nowhere"))
    with pytest.raises(UserError, match=f"{re.escape(told)}.*{re.escape(why)}"):
        load_translator(folders[model], overrides=[f"translate.fusion.model={named}"])


def test_a_weight_without_a_language_model_is_told(folders: dict[str, Path]) -> None:
    with pytest.raises(UserError, match=r"fusion\.weight=0\.5: there is no language model"):
        load_translator(folders["transformer"], overrides=["translate.fusion.weight=0.5"])
