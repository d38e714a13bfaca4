"""How many bits a weight has, by what the system tells of its processor."""

import platform
from pathlib import Path

import pytest

from unit.models import TRANSFORMER, saved, untrained
from weft.checkpoints.model_folder import read_model_folder
from weft.inference import ctranslate2_backend
from weft.inference.ctranslate2_backend import int8_weight_bits

PROCESSORS = {
    "adds in 32 bits": ("x86_64", "processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni\n", 8),
    "adds in 32 bits, the later name": ("x86_64", "flags\t\t: fpu avx2 avx_vnni\n", 8),
    "adds in 16 bits": ("x86_64", "flags\t\t: fpu avx2\n", 7),
    "another one of the family": ("x86_64", "flags\t\t: fpu avx2 avx512_vnni_of_tomorrow\n", 7),
    "tells nothing": ("AMD64", None, 7),
    "Arm": ("arm64", None, 8),
}


@pytest.mark.parametrize(("machine", "told", "bits"), PROCESSORS.values(), ids=PROCESSORS)
def test_eight_bits_where_no_sum_overflows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, told: str | None, bits: int
) -> None:
    place = tmp_path / "cpuinfo"
    if told is not None:
        place.write_text(told)
    monkeypatch.setattr(ctranslate2_backend, "CPU_INFO_FILE", place)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert int8_weight_bits() == bits


@pytest.mark.parametrize("bits", [7, 8])
def test_the_engine_opens_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    monkeypatch.setattr(ctranslate2_backend, "int8_weight_bits", lambda: bits)
    described = read_model_folder(saved(tmp_path / "model", untrained(TRANSFORMER)))
    assert ctranslate2_backend.open_ctranslate2(described, "int8", 1, None).compute_type.startswith("int8")
