"""Compare teacher and student: each with its own and the other's search, in alternating rounds; scores, speed and
size as a table and as JSON.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from weft.checkpoints.model_folder import WEIGHTS_FILE, ModelFolder, has_shortlist, read_model_folder
from weft.config.yaml_files import dump_yaml_inline
from weft.core.formatting import pluralize
from weft.inference.backends import Backend, BackendOptions, make_ctranslate2_backend, reasons_against_ctranslate2
from weft.inference.capabilities import CTranslate2Precision
from weft.inference.loader import load_translator
from weft.inference.text_translator import TextTranslator
from weft.inference.translator import Translator
from weft.metrics.corpus_metrics import evaluate_with_intervals
from weft.metrics.score_report import align_columns, format_score_value, score_to_dict
from weft.metrics.scores import DEFAULT_OPTIONS, MetricOptions, MetricScore, Segments

COMPARISON_PRECISION: CTranslate2Precision = "int8"
TIMING_ROUNDS = 5
WARMUP_LINES = 32


class TranslationSystem(NamedTuple):
    """A model with a search. count_tokens: of output lines, EOS included."""

    model: str  # teacher or student
    search: str
    backend: str
    weights_bytes: int
    translate: Callable[[Sequence[str]], list[str]]
    count_tokens: Callable[[Sequence[str]], int]


class SystemResult(NamedTuple):
    """The outputs of a system. seconds: of each round."""

    system: TranslationSystem
    lines: int
    tokens: int
    seconds: list[float]
    scores: list[MetricScore]

    def speedups(self, other: "SystemResult") -> list[float]:
        """Return how many times as fast as the other this system was, in each round."""
        return [theirs / ours for ours, theirs in zip(self.seconds, other.seconds, strict=True)]


def build_systems(teacher: Path, student: Path, device: str) -> list[TranslationSystem]:
    """Return teacher and student with their own search, with each other's search if it differs, and the student with
    its shortlist, if it has one.
    """
    models = {"teacher": read_model_folder(teacher), "student": read_model_folder(student)}
    searches = {name: model.config["translate"]["search"] for name, model in models.items()}
    pairs = [(name, searches[name]) for name in models]
    if not lacks_decoder(models["teacher"]):
        crossed = [("teacher", searches["student"]), ("student", searches["teacher"])]
        pairs += [pair for pair in crossed if pair not in pairs]
    systems = []
    for name, search in pairs:
        config = models[name].config
        changed = config | {"translate": config["translate"] | {"search": search}}
        systems.append(build_system(name, replace(models[name], config=changed), device))
    if has_shortlist(models["student"].path):
        systems.append(build_system("student", models["student"], device, shortlist=True))
    return systems


def lacks_decoder(model: ModelFolder) -> bool:
    return bool(model.slots["decoder"]["type"] == "none")


def build_system(name: str, model: ModelFolder, device: str, *, shortlist: bool = False) -> TranslationSystem:
    """Use CTranslate2 in int8 if it finds the same outputs up to precision, else torch."""
    search = model.config["translate"]["frame_decoder" if lacks_decoder(model) else "search"]
    label = f"{search['type']} {search['size']}" if "size" in search else str(search["type"])

    def load_torch() -> Translator:
        overrides = [] if lacks_decoder(model) else [f"translate.search={dump_yaml_inline(search)}"]
        return load_translator(model.path, device=device, overrides=overrides, shortlist=shortlist)

    options = BackendOptions("auto", COMPARISON_PRECISION, None, (), shortlist, device)
    use_torch = bool(reasons_against_ctranslate2(model, options))
    backend = load_torch() if use_torch else make_ctranslate2_backend(model, options, load_torch).backend
    return TranslationSystem(
        name,
        f"{label}, shortlist" if shortlist else label,
        "torch, float32" if use_torch else f"ctranslate2, {COMPARISON_PRECISION}",
        (model.path / WEIGHTS_FILE).stat().st_size if use_torch else converted_size(model),
        text_translator(backend, load_torch),
        lambda lines: int(model.target.encode_rows(lines).lengths.sum()) + len(lines),
    )


def text_translator(backend: Backend, load_torch: Callable[[], Translator]) -> Callable[[Sequence[str]], list[str]]:
    translator = TextTranslator(backend, load_torch)
    return lambda lines: [translation.text for translation in translator.stream(lines)]


def converted_size(model: ModelFolder) -> int:
    """Return the size in bytes of the model in CTranslate2's format."""
    from weft.inference.export.ctranslate2_converter import convert_to_ctranslate2

    with TemporaryDirectory(prefix="weft-") as folder:
        convert_to_ctranslate2(model, Path(folder), COMPARISON_PRECISION)
        return (Path(folder) / "model.bin").stat().st_size


def measure_systems(
    systems: Sequence[TranslationSystem],
    pairs: Sequence[tuple[str, str]],
    metrics: Sequence[str],
    options: MetricOptions = DEFAULT_OPTIONS,
    rounds: int = TIMING_ROUNDS,
) -> list[SystemResult]:
    """Let every system translate all lines in each round, so that a busy machine slows all of them."""
    sources, references = [source for source, _ in pairs], [[target] for _, target in pairs]
    outputs: list[list[str]] = [[] for _ in systems]
    seconds: list[list[float]] = [[] for _ in systems]
    for system in systems:
        system.translate(sources[:WARMUP_LINES])
    for number in range(rounds):
        for index in range(len(systems))[:: 1 if number % 2 == 0 else -1]:
            start = time.perf_counter()
            outputs[index] = systems[index].translate(sources)
            seconds[index].append(time.perf_counter() - start)
    results = []
    for system, lines, times in zip(systems, outputs, seconds, strict=True):
        scores = evaluate_with_intervals(Segments(lines, references, sources), metrics, options)
        results.append(SystemResult(system, len(sources), system.count_tokens(lines), times, scores))
    return results


def format_systems(results: Sequence[SystemResult], corpus: str, threads: int) -> str:
    """Return a row for each system; speeds are compared with the first."""
    first = results[0]
    names = [score.name for score in first.scores]
    rows = [["", "search", "backend", *names, "lines/s", "tokens/s", "ms a line", "MB", "times as fast"]]
    for result in results:
        system, seconds = result.system, median(result.seconds)
        rows.append(
            [
                system.model,
                system.search,
                system.backend,
                *(format_score_value(score).strip() for score in result.scores),
                f"{result.lines / seconds:,.0f}",
                f"{result.tokens / seconds:,.0f}",
                f"{1000 * seconds / result.lines:.2f}",
                f"{system.weights_bytes / 1e6:.1f}",
                format_range(result.speedups(first)),
            ]
        )
    rounds = f"{len(first.seconds)} alternating rounds, median (minimum to maximum)"
    setup = f"{first.lines:,} lines of {corpus}; {pluralize(threads, 'thread')}; {rounds}"
    return "\n".join([*align_columns(rows), "", setup, *same_search_speedups(results)])


def same_search_speedups(results: Sequence[SystemResult]) -> Iterator[str]:
    """Describe the student's speedup where both models use the same search."""
    teachers = {result.system.search: result for result in results if result.system.model == "teacher"}
    for result in results:
        search = result.system.search
        if result.system.model == "student" and search in teachers:
            speedup = format_range(result.speedups(teachers[search]))
            yield f"both with {search}: the student is {speedup} times as fast"


def format_range(numbers: Sequence[float]) -> str:
    return f"{median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


def systems_to_json(results: Sequence[SystemResult], corpus: str, threads: int) -> dict[str, Any]:
    systems = [
        {
            "model": result.system.model,
            "search": result.system.search,
            "backend": result.system.backend,
            "weights_bytes": result.system.weights_bytes,
            "tokens": result.tokens,
            "seconds": result.seconds,
            "speedup": median(result.speedups(results[0])),
            "scores": [score_to_dict(score) for score in result.scores],
        }
        for result in results
    ]
    return {"lines": corpus, "count": results[0].lines, "threads": threads, "systems": systems}
