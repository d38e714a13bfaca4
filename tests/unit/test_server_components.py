"""Server components that need no model: limits, languages, API keys, metrics and model names."""

from pathlib import Path

import pytest
from prometheus_client import generate_latest

from weft.core.errors import UserError
from weft.data.languages import LanguagePair, detect_language, infer_language_pair, language_name, parse_language_pair
from weft.serve.auth import ApiKeys, read_api_keys
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits, parse_limits
from weft.serve.middleware import ServerMetrics
from weft.serve.model_pool import model_names


def test_limits_are_parsed() -> None:
    assert parse_limits(["queue=5", "beam=2"]) == ServerLimits(queue=5, beam=2)
    assert parse_limits([]) == ServerLimits()


@pytest.mark.parametrize(
    ("invalid", "message"),
    [
        ("queue", "must be a whole number above 0, for example queue=2000"),
        ("queue=0", "above 0"),
        ("queue=-1", "above 0"),
        ("queue=²", "above 0"),
        ("queues=3", 'no limit "queues"'),
        ("queues=3", "Did you mean queue?"),
    ],
)
def test_invalid_limit_is_reported(invalid: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_limits([invalid])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("files", "pair"),
    [
        (("train.en", "train.de"), LanguagePair("en", "de")),
        (("a/b.train.en.gz", "b.pt-BR"), LanguagePair("en", "pt-BR")),
        (("shards/*.en.xz", "shards/*.de.xz"), LanguagePair("en", "de")),
    ],
)
def test_language_pair_is_inferred_from_file_names(files: tuple[str, ...], pair: LanguagePair) -> None:
    assert infer_language_pair({"data": {"train": files}}, "run") == pair


@pytest.mark.parametrize("files", [(), ("train.tsv",), ("train.source", "train.target"), ("a.en", "b.en"), ("a", "b")])
def test_missing_language_pair_is_reported(files: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as caught:
        infer_language_pair({"data": {"train": files}}, "run")
    assert "--languages en:de" in str(caught.value)


@pytest.mark.parametrize("invalid", ["en", "en:", "en:de:fr", "english:german", "en:en", ":"])
def test_invalid_language_pair_is_reported(invalid: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_language_pair(invalid)
    assert f"--languages {invalid}" in str(caught.value)


def test_language_names() -> None:
    assert [language_name(code) for code in ("de", "pt-BR", "xyz")] == ["German", "Portuguese", "xyz"]


@pytest.mark.parametrize(
    ("text", "codes", "found"),
    [
        ("Hello, world", ["en", "ru"], [(100.0, "en")]),
        ("Привет", ["en", "ru"], [(100.0, "ru")]),
        ("Привет abcdef", ["en", "ru"], [(50.0, "en"), (50.0, "ru")]),
        ("日本語です", ["ja", "zh"], [(100.0, "ja"), (60.0, "zh")]),
        ("Hello", ["en", "de"], [(50.0, "en"), (50.0, "de")]),
        ("123 !?", ["en", "ru"], []),
        ("γειά", ["en", "ru"], []),
        ("ﾆﾎﾝｺﾞ", ["en", "ja"], [(100.0, "ja")]),
        ("Ｈｅｌｌｏ", ["en", "ru"], [(100.0, "en")]),
        ("Hello ʰ 𝒙", ["en", "ru"], [(100.0, "en")]),
    ],
)
def test_language_is_detected_by_script(text: str, codes: list[str], found: list[tuple[float, str]]) -> None:
    assert sorted(map(tuple, detect_language(text, codes))) == sorted(found)


def test_unknown_api_keys_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# for the shop\nabcdefghijklmnop\n\nqrstuvwxyz0123456789\n", "utf-8")
    keys = read_api_keys(tmp_path / "keys")
    for key in ("abcdefghijklmnop", "qrstuvwxyz0123456789"):
        keys.check(key)
    for invalid in (None, "", "abcdefghijklmno", "# for the shop", "\ud800"):
        with pytest.raises(ApiError) as caught:
            keys.check(invalid)
        assert caught.value.status_code == 403
    ApiKeys().check(None)


def test_metrics_are_counted() -> None:
    metrics = ServerMetrics()
    metrics.requests.labels("/translate", "200").inc()
    metrics.requests.labels("/translate", "200").inc(2)
    metrics.batches.labels('a"b\\').observe(3)
    metrics.batches.labels('a"b\\').observe(1000)
    metrics.queue.labels("m").set_function(lambda: 7)
    lines = generate_latest(metrics.registry).decode().split("\n")
    assert 'weft_requests_total{code="200",path="/translate"} 3.0' in lines
    assert 'weft_batch_lines_bucket{le="2.0",model="a\\"b\\\\"} 0.0' in lines
    assert 'weft_batch_lines_bucket{le="4.0",model="a\\"b\\\\"} 1.0' in lines
    assert 'weft_batch_lines_bucket{le="+Inf",model="a\\"b\\\\"} 2.0' in lines
    assert 'weft_batch_lines_sum{model="a\\"b\\\\"} 1003.0' in lines
    assert 'weft_queue_lines{model="m"} 7.0' in lines


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["a", "a/best", "b/last", "c", "a"], ["a", "a-2", "b", "c", "a-3"]),
        (["en-de-2", "en-de", "en-de"], ["en-de-2", "en-de", "en-de-3"]),
        (["en-de", "en"], ["en-de", "en"]),
    ],
)
def test_model_names_are_distinct_folder_names(folders: list[str], names: list[str], tmp_path: Path) -> None:
    assert model_names([tmp_path / folder for folder in folders]) == names
