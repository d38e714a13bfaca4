"""weft inspect, as a person would use it."""

from pathlib import Path

import pytest

from system.commands import weft

SENTENCE = "the red cat sees a dog"


def test_a_picture_and_the_translation(run: Path, tmp_path: Path) -> None:
    translation = weft("translate", run, stdin=SENTENCE.encode()).lines
    picture = tmp_path / "picture.svg"
    result = weft("inspect", "attention", run, SENTENCE, "--output", picture)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{picture}: {translation[0]}"]
    assert picture.read_bytes().startswith(b"<?xml")


@pytest.mark.slow
def test_pieces_and_heads_give_other_pictures(runs: dict[str, Path], tmp_path: Path) -> None:
    pictures = set()
    for options in ([], ["--tokens"], ["--layer", "1", "--head", "2"]):
        result = weft(
            "inspect", "attention", runs["transformer"], SENTENCE, "--output", tmp_path / "picture.svg", *options
        )
        assert (result.code, result.err) == (0, "")
        pictures.add((tmp_path / "picture.svg").read_bytes())
    assert len(pictures) == 3


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_gates_of_each_side(runs: dict[str, Path], tmp_path: Path, side: str) -> None:
    picture = tmp_path / "gates.svg"
    result = weft("inspect", "gates", runs["bahdanau"], SENTENCE, "--side", side, "--output", picture)
    assert (result.code, result.err) == (0, "")
    cells = {"encoder": ["encoder.0.forward", "encoder.0.backward"], "decoder": ["decoder"]}[side]
    assert result.lines == [
        f"{picture}: " + ", ".join(f"{cell}.{gate}" for cell in cells for gate in ("reset", "update"))
    ]
    assert picture.read_bytes().startswith(b"<?xml")


def test_the_units_of_a_gate(runs: dict[str, Path], tmp_path: Path) -> None:
    picture = tmp_path / "gates.png"
    one_gate = ["--module", "decoder.update", "--units"]
    result = weft("inspect", "gates", runs["bahdanau"], SENTENCE, *one_gate, "--output", picture)
    assert (result.code, result.err, result.lines) == (0, "", [f"{picture}: decoder.update"])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_gradients_through_time(runs: dict[str, Path], tmp_path: Path) -> None:
    picture = tmp_path / "gradients.pdf"
    result = weft("inspect", "gradients", runs["bahdanau"], SENTENCE, "--output", picture)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{picture}: encoder.0.forward, encoder.0.backward, decoder"]
    assert picture.read_bytes().startswith(b"%PDF")


def test_the_tree_of_a_search(run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "tree.svg"
    result = weft("inspect", "search", run, SENTENCE, "--beam", "2", "--output", picture, "--text")
    assert (result.code, result.err) == (0, "")
    [translation] = weft("translate", run, "--beam", "2", stdin=SENTENCE.encode()).lines
    assert result.lines[:2] == [SENTENCE, f"→ {translation}"]
    assert sum("●" in line for line in result.lines) > 1
    assert picture.read_bytes().startswith(b"<?xml")
    result = weft("inspect", "search", run, SENTENCE, "--beam", "2", "--output", tmp_path / "tree.pdf")
    assert result.lines == [f"{tmp_path / 'tree.pdf'}: {translation}"]
