"""Width of int8 weights, chosen by the CPU features that the system reports."""

import platform
from pathlib import Path

import pytest

from unit.models import TRANSFORMER, save_model_folder, untrained_model
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


@pytest.mark.parametrize(("machine", "cpu_info", "bits"), PROCESSORS.values(), ids=PROCESSORS)
def test_8_bits_only_if_sums_cannot_overflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, cpu_info: str | None, bits: int
) -> None:
    path = tmp_path / "cpuinfo"
    if cpu_info is not None:
        path.write_text(cpu_info)
    monkeypatch.setattr(ctranslate2_backend, "CPU_INFO_FILE", path)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert int8_weight_bits() == bits


@pytest.mark.parametrize("bits", [7, 8])
def test_ctranslate2_opens_7_and_8_bit_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    monkeypatch.setattr(ctranslate2_backend, "int8_weight_bits", lambda: bits)
    model_folder = read_model_folder(save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER)))
    assert ctranslate2_backend.open_ctranslate2(model_folder, "int8", 1, None).compute_type.startswith("int8")
