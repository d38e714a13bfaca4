"""Server components that need no model: limits, API keys, metrics and model names."""

from pathlib import Path

import pytest
from prometheus_client import generate_latest

from weft.core.errors import UserError
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
