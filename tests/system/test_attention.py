"""weft attention, as a person would use it."""

from pathlib import Path

from system.commands import weft

SENTENCE = "the red cat sees a dog"


def test_a_picture_and_the_translation(run: Path, tmp_path: Path) -> None:
    translation = weft("translate", run, stdin=SENTENCE.encode()).lines
    picture = tmp_path / "picture.svg"
    result = weft("attention", run, SENTENCE, "--output", picture)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{picture}: {translation[0]}"]
    assert picture.read_bytes().startswith(b"<?xml")


def test_pieces_and_heads_give_other_pictures(runs: dict[str, Path], tmp_path: Path) -> None:
    pictures = set()
    for options in ([], ["--pieces"], ["--layer", "1", "--head", "2"]):
        result = weft("attention", runs["transformer"], SENTENCE, "--output", tmp_path / "picture.svg", *options)
        assert (result.code, result.err) == (0, "")
        pictures.add((tmp_path / "picture.svg").read_bytes())
    assert len(pictures) == 3
