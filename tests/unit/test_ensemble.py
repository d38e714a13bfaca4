"""Ensembles of models, and fusion with a language model."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import weft
from unit.models import (
    BAHDANAU,
    CTC,
    FAMILIES,
    JOINT,
    LANGUAGE,
    SUTSKEVER,
    TRANSFORMER,
    letter_tokenizer,
    save_model_folder,
    untrained_model,
)
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.translate import parse_ensemble
from weft.config.inference_config import FusionConfig
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS
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


def translator(first: TrainedModel, *others: TrainedModel, search: Any = None, **options: Any) -> Translator:
    weights = options.pop("weights", (1.0,) * (1 + len(others)))
    ensemble = Ensemble(others, weights, **options)
    return Translator(first, search or BeamSearch(size=3, n_best=2), first.recipe.translate, ensemble=ensemble)


def outputs(translations: list[Translation]) -> list[list[tuple[str, ...]]]:
    return [[output.tokens for output in translation.alternatives] for translation in translations]


def scores(translations: list[Translation]) -> list[float]:
    return [output.score for translation in translations for output in translation.alternatives]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mean", ["probabilities", "log-probabilities"])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.2, 3.0, 1.7)])
def test_ensemble_of_identical_models_equals_the_model(family: str, mean: Any, weights: tuple[float, ...]) -> None:
    model = untrained_model(FAMILIES[family])
    alone = translator(model).translate(LINES)
    ensemble = translator(model, model, model, weights=weights, mean=mean).translate(LINES)
    assert outputs(ensemble) == outputs(alone)
    assert scores(ensemble) == pytest.approx(scores(alone), abs=1e-6)


@pytest.mark.parametrize("mean", ["probabilities", "log-probabilities"])
def test_members_use_their_own_source_tokenizers_in_any_batch(mean: Any) -> None:
    models = [
        untrained_model(TRANSFORMER, 1),
        untrained_model(BAHDANAU, 2, source=letter_tokenizer(ByteTokenizerTrainer())),
        untrained_model(JOINT, 3),
    ]
    whole = translator(*models, mean=mean)
    alone = replace(whole, settings=replace(whole.settings, batch_tokens=1, buffer_size=1))
    assert outputs(whole.translate(LINES)) == outputs(alone.translate(LINES))
    assert_close(scores(whole.translate(LINES)), scores(alone.translate(LINES)), rtol=0, atol=1e-9)
    assert outputs(whole.translate(LINES)) != outputs(translator(models[0]).translate(LINES))


@torch.no_grad()
def probabilities(model: TrainedModel, line: str, target: list[int]) -> torch.Tensor:
    """Return the probability of every token at every step [T,V]."""
    source = pad_rows(model.source_tokenizer.encode_rows([line]).split())
    state, rows = model.model.start(model.model.encode(source)), []
    for token in [BOS, *target]:
        scores, state = model.model.step(torch.tensor([token]), state)
        rows.append(scores.log_probs[0].exp())
    return torch.stack(rows)


@torch.no_grad()
@pytest.mark.parametrize("combine", [mean_probabilities, mean_log_probabilities])
def test_combined_scores_match_the_definition(combine: CombineLogProbs) -> None:
    models, weights, target = [untrained_model(TRANSFORMER, 1), untrained_model(SUTSKEVER, 2)], (1.0, 3.0), [4, 5, 7]
    source = pad_rows(models[0].source_tokenizer.encode_rows(["abc"]).split())
    parts = [WeightedStep(member.model.step, weight) for member, weight in zip(models, weights, strict=True)]
    state = join_states(*(member.model.start(member.model.encode(source)) for member in models))
    [found] = forced_scores(combine_steps(parts, combine), state, Padded.from_rows([[*target, EOS]]))
    first, second = (probabilities(member, "abc", target) for member in models)
    if combine is mean_probabilities:
        expected = 0.25 * first + 0.75 * second
    else:
        expected = first**0.25 * second**0.75
        expected = expected / expected.sum(-1, keepdim=True)
    token_scores = [math.log(expected[step, token]) for step, token in enumerate([*target, EOS])]
    assert found.token_scores == pytest.approx(token_scores)


def test_weighted_sum_ignores_zero_weights() -> None:
    never = torch.tensor([[-math.inf, -1.0]])
    assert_close(weighted_sum([torch.tensor([[-2.0, -3.0]]), never], [1.0, 0.0]), torch.tensor([[-2.0, -3.0]]))
    assert_close(mean_probabilities([never, never], [1.0, 2.0]), never)


@pytest.mark.parametrize("combine", [weighted_sum, mean_probabilities, mean_log_probabilities])
def test_impossible_rows_stay_impossible(combine: CombineLogProbs) -> None:
    nothing = torch.full((1, 3), -math.inf)
    assert torch.equal(
        combine([nothing, torch.tensor([[-1.0, -2.0, -math.inf]])], [1.0, 1.0]).isnan().any(), torch.tensor(False)
    )
    assert torch.equal(combine([nothing, nothing], [1.0, 3.0]), nothing)


def test_beam_and_n_best_respect_the_configured_search(folders: dict[str, Path]) -> None:
    sampling = ["translate.search=sampling"]
    [translation] = load_translator(folders["transformer"], n_best=4, overrides=sampling).translate(["abc"])
    assert len(translation.alternatives) == 4
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
def test_attention_is_averaged_over_members_with_equal_positions() -> None:
    models = [untrained_model(BAHDANAU, 1), untrained_model(TRANSFORMER, 2), untrained_model(SUTSKEVER, 3)]
    source = Padded.from_rows([[3, 4, 5, EOS]])
    starts = [member.model.start(member.model.encode(source)) for member in models]
    begin = torch.tensor([BOS])
    attention = [member.model.step(begin, start)[0].attention for member, start in zip(models, starts, strict=True)]
    assert attention[0] is not None
    assert attention[1] is not None
    assert attention[2] is None

    def combined_attention(*parts: WeightedStep) -> torch.Tensor | None:
        chosen = [next(n for n, member in enumerate(models) if member.model.step == part.step) for part in parts]
        scores, state = combine_steps(parts, mean_probabilities)(
            begin, join_states(*(starts[number] for number in chosen))
        )
        assert len(split_states(state)) == len(parts)
        return scores.attention

    first, second, third = (
        WeightedStep(member.model.step, weight, True) for member, weight in zip(models, (1, 3, 5), strict=True)
    )
    assert_close(combined_attention(first, second, third), attention[0] / 4 + 3 * attention[1] / 4)
    assert_close(combined_attention(first, second._replace(same_positions=False)), attention[0])
    assert combined_attention(third, first) is None


def test_attention_does_not_depend_on_the_batch() -> None:
    """Only the first model's attention is used if members read lines of different lengths."""
    first, other = untrained_model(BAHDANAU, 1), untrained_model(TRANSFORMER, 2)
    short = other._replace(recipe=replace(other.recipe, data=replace(other.recipe.data, max_length=3)))
    attending = replace(translator(first, short, search=GreedySearch()), output_options=OutputOptions(attention=True))
    together, alone = attending.translate(["abcde", "ab"])[1], attending.translate(["x", "ab"])[1]
    assert together.attention is not None
    assert alone.attention is not None
    assert_close(torch.tensor(together.attention.weights), torch.tensor(alone.attention.weights))


def fused(model: TrainedModel, language: TrainedModel, weight: float) -> FusedLanguageModel:
    numbers = torch.arange(model.target_tokenizer.size)
    return FusedLanguageModel(language_model_steps(language.model, numbers), weight, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_fused_language_model_is_added_with_its_weight(family: str) -> None:
    model, language = untrained_model(FAMILIES[family], 1), untrained_model(LANGUAGE, 7)
    fused_translator = translator(model, fused=fused(model, language, 0.4), search=GreedySearch())
    for line, translation in zip(LINES, fused_translator.translate(LINES), strict=True):
        if not line:
            continue
        [output] = translation.alternatives
        tokens = [model.target_tokenizer.vocabulary().index(piece) for piece in output.tokens[:-1]]
        model_scores, language_scores = (
            probabilities(model, line, tokens).log(),
            probabilities(language, "", tokens).log(),
        )
        expected = [float(model_scores[n, t] + 0.4 * language_scores[n, t]) for n, t in enumerate([*tokens, EOS])]
        assert output.token_scores == pytest.approx(expected)
    alone = translator(model, search=GreedySearch()).translate(LINES)
    assert outputs(fused_translator.translate(LINES)) != outputs(alone)


def test_fused_language_model_with_zero_weight_changes_nothing() -> None:
    model, language = untrained_model(TRANSFORMER, 1), untrained_model(LANGUAGE, 7)
    assert load_fused_language_model(model, FusionConfig(model="nowhere", weight=0.0)) is None
    unweighted = translator(model, fused=fused(model, language, 0.0)).translate(LINES)
    assert outputs(unweighted) == outputs(translator(model).translate(LINES))
    assert scores(unweighted) == pytest.approx(scores(translator(model).translate(LINES)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    models = {
        "transformer": untrained_model(TRANSFORMER, 1),
        "recurrent": untrained_model(BAHDANAU, 2, source=letter_tokenizer(ByteTokenizerTrainer())),
        "language": untrained_model(LANGUAGE, 3),
        "ctc": untrained_model(CTC, 4),
        "bytes": untrained_model(TRANSFORMER, 5, target=letter_tokenizer(ByteTokenizerTrainer())),
        "symbols": untrained_model(TRANSFORMER, 5, target=WhitespaceTokenizerTrainer().train(["v w x y z"])),
        "backward": untrained_model(TRANSFORMER, 6, target=letter_tokenizer().reversed()),
        "language-backward": untrained_model(LANGUAGE, 6, target=letter_tokenizer().reversed()),
        "short": untrained_model(
            TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 16}}}, 7
        ),
    }
    return {name: save_model_folder(folder / name, model) for name, model in models.items()}


def test_ensemble_is_loaded_from_folders(folders: dict[str, Path]) -> None:
    first, second = folders["transformer"], folders["recurrent"]
    loaded = weft.load([first, second], weights=[1, 2], mean="log-probabilities", n_best=2)
    assert loaded.ensemble.weights == (1, 2)
    assert outputs(loaded.translate(LINES)) != outputs(weft.load(first, n_best=2).translate(LINES))
    twice = weft.load([first, first], beam=4, n_best=2).translate(LINES)
    alone = weft.load([first], beam=4, n_best=2).translate(LINES)
    assert outputs(twice) == outputs(alone)
    assert scores(twice) == pytest.approx(scores(alone), abs=1e-5)


def test_fused_language_model_is_loaded_from_an_override(folders: dict[str, Path]) -> None:
    setting = f"translate.fusion.model={folders['language']}"
    fused_translator = load_translator(folders["transformer"], overrides=[setting])
    assert fused_translator.ensemble.fused is not None
    assert fused_translator.ensemble.fused.weight == 0.2
    assert scores(fused_translator.translate(LINES)) != scores(weft.load(folders["transformer"]).translate(LINES))
    unweighted = load_translator(folders["transformer"], overrides=[setting, "translate.fusion.weight=0"])
    assert unweighted.translate(LINES) == weft.load(folders["transformer"]).translate(LINES)


def test_shortest_position_table_limits_output_length(folders: dict[str, Path]) -> None:
    settings, limits = ["translate.max_length_factor=9"], []

    class RecordingSearch(GreedySearch):
        def __call__(
            self, step: StepFunction, state: State, limit: torch.Tensor, lines: torch.Tensor
        ) -> list[list[Hypothesis]]:
            limits.append(limit.tolist())
            return super().__call__(step, state, limit, lines)

    for ensemble in (None, EnsembleOptions((folders["short"],))):
        loaded = load_translator(folders["transformer"], overrides=settings, ensemble=ensemble)
        replace(loaded, search=RecordingSearch()).translate(["abcde"])
    assert limits == [[9 * 6 + 3], [15]]


def test_truncation_by_any_member_is_reported(folders: dict[str, Path]) -> None:
    # 14 bytes, but the second model reads at most 12
    [translation] = weft.load([folders["transformer"], folders["recurrent"]]).translate(["ä" * 7])
    assert translation.truncated
    assert not weft.load(folders["transformer"]).translate(["ä" * 7])[0].truncated


INCOMPATIBLE_MODELS = [
    (["transformer", "language"], "is a language model, which reads no source, so it cannot be part of an ensemble"),
    (["transformer", "ctc"], "ctc has no decoder, so it has no steps that an ensemble could average"),
    (["ctc", "transformer"], "the first model has no decoder"),
    (["transformer", "bytes"], "does not have the target tokens of the first model (259 tokens there, 9 here)"),
    (["transformer", "symbols"], "5 of 9 differ, such as number 4: 'v' there, 'a' here"),
    (["transformer", "backward"], "(it generates them backward, the first model forward), so their steps cannot be"),
    (["transformer", "nowhere"], "nowhere: there is no such folder. Give a run folder or a model folder."),
    (["language", "transformer"], "is a language model, which reads no source. To complete a text"),
]


@pytest.mark.parametrize(("names", "message"), INCOMPATIBLE_MODELS)
def test_incompatible_models_are_reported(folders: dict[str, Path], names: list[str], message: str) -> None:
    paths = [folders.get(name, Path("nowhere")) for name in names]
    with pytest.raises(UserError, match=re.escape(message)):
        weft.load(paths)


def test_image_model_cannot_join_a_text_model() -> None:
    text, other = untrained_model(TRANSFORMER), untrained_model(TRANSFORMER, 2)
    image_model = other._replace(source_tokenizer=ImageCodec(height=8, invert=False))
    with pytest.raises(
        UserError, match="x reads image, but the first model text: an ensemble must read the same input"
    ):
        check_ensemble_member(text, image_model, Path("x"))


@pytest.mark.parametrize(
    ("languages", "is_compatible"),
    [(("en", "pt-BR"), True), ((), True), (("en", "es"), False), (("pt", "en"), False)],
)
def test_members_have_the_same_languages(languages: tuple[str, ...], is_compatible: bool) -> None:
    own, other = untrained_model(TRANSFORMER), untrained_model(TRANSFORMER, 2)
    own, other = with_languages(own, ("en", "pt")), with_languages(other, languages)
    if is_compatible:
        check_ensemble_member(own, other, Path("x"))
        return
    with pytest.raises(UserError, match=r"x translates .* but the first model English to Portuguese"):
        check_ensemble_member(own, other, Path("x"))


def with_languages(trained: TrainedModel, languages: tuple[str, ...]) -> TrainedModel:
    data = replace(trained.recipe.data, languages=languages)
    return trained._replace(recipe=replace(trained.recipe, data=data))


INVALID_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"weights": (1.0,)}, "weights: got 1 number for 2 models: give one for each, in the order of the models"),
    ({"weights": (1.0, 0.0)}, "weights: got 1, 0: each should be positive"),
    ({"weights": (1.0, math.nan)}, "weights: got 1, nan: each should be positive"),
    ({"mean": "scores"}, "mean: got 'scores', expected one of probabilities, log-probabilities"),
]


@pytest.mark.parametrize(("options", "message"), INVALID_OPTIONS)
def test_invalid_ensemble_options_are_reported(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        ensemble_weights(EnsembleOptions((Path("x"),), **options))


def test_command_line_options_are_parsed() -> None:
    assert parse_ensemble(None, None, None) is None
    ensemble = parse_ensemble([Path("x"), Path("y")], "1,2,0.5", "log-probabilities")
    assert ensemble == EnsembleOptions((Path("x"), Path("y")), (1.0, 2.0, 0.5), "log-probabilities")
    assert parse_ensemble([Path("x")], None, None) == EnsembleOptions((Path("x"),), None, "probabilities")
    with pytest.raises(UserError, match="--weights needs --ensemble MODEL: add it, or omit"):
        parse_ensemble(None, "1", None)
    with pytest.raises(UserError, match="--mean needs --ensemble MODEL: add it, or omit"):
        parse_ensemble([], None, "probabilities")
    with pytest.raises(UserError, match="--weights 1;2: must be numbers separated by commas"):
        parse_ensemble([Path("x")], "1;2", None)


INCOMPATIBLE_LANGUAGE_MODELS = [
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


@pytest.mark.parametrize(("model", "language", "message", "reason"), INCOMPATIBLE_LANGUAGE_MODELS)
def test_incompatible_language_model_is_reported(
    folders: dict[str, Path], model: str, language: str, message: str, reason: str
) -> None:
    path = folders.get(language, Path("nowhere"))
    with pytest.raises(UserError, match=f"{re.escape(message)}.*{re.escape(reason)}"):
        load_translator(folders[model], overrides=[f"translate.fusion.model={path}"])


def test_fusion_weight_without_a_language_model_is_reported(folders: dict[str, Path]) -> None:
    with pytest.raises(UserError, match=r"fusion\.weight=0\.5: there is no language model"):
        load_translator(folders["transformer"], overrides=["translate.fusion.weight=0.5"])
