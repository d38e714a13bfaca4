"""Checks the quality of training, validation and test data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from weft.core.codec import Codec, Modality
from weft.core.errors import UserError
from weft.data.checks.corpus_rows import CorpusFiles
from weft.data.checks.outliers import HeldOutHashes, ProblemDetector, hash_held_out, mark_leaks
from weft.data.checks.pair_features import PairFeatures, TokenCounter, extract_features
from weft.data.checks.problem_kinds import Problem
from weft.data.checks.problem_report import CheckReport, summarize_problems
from weft.data.data_config import DataConfig
from weft.data.pair_files import find_shards
from weft.data.text_files import require_regular_file
from weft.text.tokenizer import Tokenizer

TRAIN_SPLIT = "train"


class CheckInputs(NamedTuple):
    """splits: train, and valid and test if present. modality: of the source. codecs: of a model, to count tokens."""

    splits: Mapping[str, CorpusFiles]
    data: DataConfig
    modality: Modality
    codecs: tuple[Codec, Tokenizer] | None

    @property
    def target_only(self) -> bool:
        """Whether only the target is text."""
        return self.data.monolingual or self.modality == "image"

    def checked_kinds(self) -> int:
        """Return the bits of the kinds of problems that can be found in these inputs."""
        missing = 0
        if self.target_only:
            missing |= Problem.IDENTICAL_SIDES | Problem.EXTREME_RATIO | Problem.MANY_TARGETS
            missing |= Problem.NUMBER_MISMATCH | Problem.UNEVEN_TOKENS
        if self.codecs is None:
            missing |= Problem.TOO_MANY_TOKENS | Problem.UNEVEN_TOKENS | Problem.UNKNOWN_TOKENS
        if len(self.splits) == 1:
            missing |= Problem.LEAKED_SOURCE | Problem.LEAKED_PAIR
        return ~missing


class CheckResult(NamedTuple):
    """corpora: training first. held_out: hashes of the data that must not be in the training data."""

    corpora: tuple[CheckReport, ...]
    held_out: HeldOutHashes | None


def list_corpus_files(corpora: Sequence[Sequence[Path]], data: DataConfig) -> CorpusFiles:
    """Return the files of all these corpora; raise UserError if one is missing."""
    shards = tuple(shard for names in corpora for shard in find_shards(names, monolingual=data.monolingual))
    files = CorpusFiles(shards, data.fields)
    for path in files.paths():
        require_regular_file(path)
    return files


def check_corpora(inputs: CheckInputs, temporary: Path, progress: Callable[[str, int], None]) -> CheckResult:
    """Check all corpora. temporary: an empty folder for intermediate files. progress: receives split and row count."""
    features = {name: _extract_features(name, inputs, temporary / name, progress) for name in inputs.splits}
    others = [each for name, each in features.items() if name != TRAIN_SPLIT]
    held_out = hash_held_out(others) if others else None
    reports = []
    for name, files in inputs.splits.items():
        is_train = name == TRAIN_SPLIT
        detector = ProblemDetector(features[name], held_out if is_train else None, target_only=inputs.target_only)
        problems = detector.detect(temporary / f"{name}.problems")
        if not is_train:
            mark_leaks(problems, features[name], features[TRAIN_SPLIT])
        reports.append(summarize_problems(name, files, problems, inputs.checked_kinds(), features[name].tokens))
    return CheckResult(tuple(reports), held_out)


def _extract_features(name: str, inputs: CheckInputs, path: Path, progress: Callable[[str, int], None]) -> PairFeatures:
    files, counter = inputs.splits[name], None
    if inputs.codecs is not None:
        filters = inputs.data.filters(*inputs.codecs)
        counter = TokenCounter(inputs.codecs, filters, target_only=inputs.target_only)
    features = extract_features(
        files.rows(), path, target_only=inputs.target_only, counter=counter, progress=partial(progress, name)
    )
    if not len(features.records):
        unit = "line" if inputs.data.monolingual else "pair"
        raise UserError(f"{' + '.join(map(str, files.shards[0].paths))}: empty, there is no {unit} in it")
    return features
