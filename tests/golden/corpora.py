"""Small generated corpora. Nothing here depends on Weft, so that the data stay the same whatever becomes of its names.

The toy language: a sentence is two noun phrases joined by a verb, every word has one translation, and the adjective
follows its noun in the target: "the red cat sees a dog" -> "li kato ruja videt un hundo".
"""

from pathlib import Path
from random import Random

from PIL import Image

ARTICLES = {"the": "li", "a": "un", "this": "cist"}
ADJECTIVES = {"red": "ruja", "small": "pika", "old": "alta", "wet": "mola", "loud": "brava"}
NOUNS = {"cat": "kato", "dog": "hundo", "tree": "arbo", "house": "kaso", "river": "flumo", "child": "ninjo"}
VERBS = {"sees": "videt", "hears": "audet", "finds": "trovet", "has": "havet"}

DIGITS = {  # 3 x 5 pixels, a row of each digit after the other
    "1": ".#.##..#..#.###",
    "2": "##...#.#.#..###",
    "4": "#.##.####..#..#",
}
SCALE = 3  # picture pixels per pixel of a digit

FLAWS = [
    ("", "li kato"),
    ("the cat", "   "),
    ("the same line on both sides", "the same line on both sides"),
    ("a\x00 wet dog has a cat", "un hundo mola havet un kato"),
    ("the \ufeffold dog sees a cat", "li hundo alta videt un kato"),
    ("the dog sees a cat", "li hund\ufffd videt un kato"),
    ("the small cat sees a dog", "li kato pikÃ¤ videt un hundo"),
    ("кошка видит собаку дома", "li kato videt un hundo"),
    ("the dog <b>sees</b> a cat &amp; a tree", "li hundo <b>videt</b> un kato &amp; un arbo"),
    ("the dog has 12 cats", "li hundo havet 21 kato"),
    ("the red cat " * 30, "li kato ruja " * 30),
    ("the dog", "li hundo " * 12),
    ("The Dog Sees A Cat", "LI HUNDO VIDET UN KATO"),
]

PROBES = [
    ("the red cat sees a dog", "li kato ruja videt un hundo"),
    ("this tree has the old house", "cist arbo havet li kaso alta"),
    ("a child hears this loud river", "un ninjo audet cist flumo brava"),
    ("the dog finds the dog", "li hundo trovet li kaso"),
]


def write_all(folder: Path) -> None:
    """Write every corpus into the folder."""
    draws = Random(5)
    for name, count in (("train", 160), ("valid", 8)):
        pairs = [sentence(draws) for _ in range(count)]
        write_lines(folder / f"{name}.src", [source for source, _ in pairs])
        write_lines(folder / f"{name}.tgt", [target for _, target in pairs])
        write_lines(folder / f"{name}.cased", [cased(target, draws) for _, target in pairs])
        write_lines(folder / f"{name}.both", [line for pair in pairs for line in pair])
    more = [sentence(draws) for _ in range(40)]
    write_lines(folder / "more.tsv", [f"{source}\t{target}" for source, target in more])
    write_lines(folder / "words.txt", sorted({*ARTICLES.values(), *NOUNS.values(), *VERBS.values()}))
    write_pictures(folder, "pictures", 48, draws)
    write_flawed(folder, draws)


def write_flawed(folder: Path, draws: Random) -> None:
    """Write good pairs and pairs with problems; the files "planted" also have some that training rejects."""
    good = [tuple(f"{side} {number}." for side in sentence(draws)) for number in range(60)]
    valid = [(line.strip(), "x") for line in (folder / "valid.src").read_text("utf-8").splitlines()[:1]]
    pairs = [*good[:20], *FLAWS, *good[20:40], *good[3:8], *valid, *good[40:]]
    pairs += [("this line is common", f"{noun} cist") for noun in NOUNS.values()]
    for side, ending in enumerate(("src", "tgt")):
        lines = [pair[side].encode() for pair in pairs]
        (folder / f"flawed.{ending}").write_bytes(b"".join(line + b"\n" for line in lines))
        lines[2:2] = [[b"caf\xe9 noir", b"kafo \xfc\xdfa"][side], b"after"]
        (folder / f"planted.{ending}").write_bytes(b"".join(line + b"\n" for line in lines))


def sentence(draws: Random) -> tuple[str, str]:
    """Return a sentence and its translation."""
    verb = draws.choice(list(VERBS))
    (source_subject, target_subject), (source_object, target_object) = noun_phrase(draws), noun_phrase(draws)
    return f"{source_subject} {verb} {source_object}", f"{target_subject} {VERBS[verb]} {target_object}"


def noun_phrase(draws: Random) -> tuple[str, str]:
    article, noun = draws.choice(list(ARTICLES)), draws.choice(list(NOUNS))
    if draws.random() < 0.5:
        return f"{article} {noun}", f"{ARTICLES[article]} {NOUNS[noun]}"
    adjective = draws.choice(list(ADJECTIVES))
    return f"{article} {adjective} {noun}", f"{ARTICLES[article]} {NOUNS[noun]} {ADJECTIVES[adjective]}"


def cased(line: str, draws: Random) -> str:
    """Return the first two words, some of them capitalized."""
    return " ".join(word.capitalize() if draws.random() < 0.5 else word for word in line.split()[:2])


def write_pictures(folder: Path, name: str, count: int, draws: Random) -> None:
    """Write pictures of two digits each, and a table of their names and texts."""
    rows = []
    for number in range(count):
        text = draws.choice("124") + draws.choice("124")
        draw(folder / name / f"{number}.png", text, draws)
        rows.append(f"{name}/{number}.png\t{text}")
    write_lines(folder / f"{name}.tsv", rows)


def draw(path: Path, text: str, draws: Random) -> None:
    """Draw the text in black on white, at a random place of a picture of 32 x 20 pixels."""
    image = Image.new("L", (32, 20), 255)
    left, top = draws.randint(0, 6), draws.randint(0, 4)
    for place, digit in enumerate(text):
        for pixel, ink in enumerate(DIGITS[digit]):
            if ink == "#":
                x, y = left + SCALE * (4 * place + pixel % 3), top + SCALE * (pixel // 3)
                image.paste(draws.randint(0, 60), (x, y, x + SCALE, y + SCALE))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
