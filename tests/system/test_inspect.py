"""`weft inspect`: attention, gates, gradients and search trees as images."""

from pathlib import Path

import pytest

from system.commands import weft

SENTENCE = "the red cat sees a dog"


def test_attention_is_drawn_and_the_translation_printed(run: Path, tmp_path: Path) -> None:
    translation = weft("translate", run, stdin=SENTENCE.encode()).lines
    image = tmp_path / "image.svg"
    result = weft("inspect", "attention", run, SENTENCE, "--output", image)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{image}: {translation[0]}"]
    assert image.read_bytes().startswith(b"<?xml")


@pytest.mark.slow
def test_tokens_and_heads_give_different_images(runs: dict[str, Path], tmp_path: Path) -> None:
    images = set()
    for options in ([], ["--tokens"], ["--layer", "1", "--head", "2"]):
        result = weft(
            "inspect", "attention", runs["transformer"], SENTENCE, "--output", tmp_path / "image.svg", *options
        )
        assert (result.code, result.err) == (0, "")
        images.add((tmp_path / "image.svg").read_bytes())
    assert len(images) == 3


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_gates_of_each_side_are_drawn(runs: dict[str, Path], tmp_path: Path, side: str) -> None:
    image = tmp_path / "gates.svg"
    result = weft("inspect", "gates", runs["bahdanau"], SENTENCE, "--side", side, "--output", image)
    assert (result.code, result.err) == (0, "")
    cells = {"encoder": ["encoder.0.forward", "encoder.0.backward"], "decoder": ["decoder"]}[side]
    assert result.lines == [
        f"{image}: " + ", ".join(f"{cell}.{gate}" for cell in cells for gate in ("reset", "update"))
    ]
    assert image.read_bytes().startswith(b"<?xml")


def test_units_of_a_gate_are_drawn(runs: dict[str, Path], tmp_path: Path) -> None:
    image = tmp_path / "gates.png"
    options = ["--module", "decoder.update", "--units"]
    result = weft("inspect", "gates", runs["bahdanau"], SENTENCE, *options, "--output", image)
    assert (result.code, result.err, result.lines) == (0, "", [f"{image}: decoder.update"])
    assert image.read_bytes().startswith(b"\x89PNG")


def test_gradients_through_time_are_drawn(runs: dict[str, Path], tmp_path: Path) -> None:
    image = tmp_path / "gradients.pdf"
    result = weft("inspect", "gradients", runs["bahdanau"], SENTENCE, "--output", image)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{image}: encoder.0.forward, encoder.0.backward, decoder"]
    assert image.read_bytes().startswith(b"%PDF")


def test_search_tree_is_drawn_and_printed(run: Path, tmp_path: Path) -> None:
    image = tmp_path / "tree.svg"
    result = weft("inspect", "search", run, SENTENCE, "--beam", "2", "--output", image, "--text")
    assert (result.code, result.err) == (0, "")
    [translation] = weft("translate", run, "--beam", "2", stdin=SENTENCE.encode()).lines
    assert result.lines[:2] == [SENTENCE, f"→ {translation}"]
    assert sum("●" in line for line in result.lines) > 1
    assert image.read_bytes().startswith(b"<?xml")
    result = weft("inspect", "search", run, SENTENCE, "--beam", "2", "--output", tmp_path / "tree.pdf")
    assert result.lines == [f"{tmp_path / 'tree.pdf'}: {translation}"]
