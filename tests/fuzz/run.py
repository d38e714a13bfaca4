"""Fuzz readers with atheris, which looks where the code goes and makes input that goes elsewhere (extra `fuzz`).

From the root of the repository, with the folder of tests on the path:

    PYTHONPATH=tests python -m fuzz.run tokenizer --runs 200000
    PYTHONPATH=tests python -m fuzz.run all --runs 200000

It prints executions and coverage as it goes (`cov` no longer rises: coverage is flat), stops at what takes over 1 GB or
a minute, and ends with code 0 if nothing but a UserError came out. What broke a reader is written to `crash-...`,
`oom-...` or `timeout-...` in the folder that is named at the start, where the corpus is, too.
"""

import os
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated

import atheris
import typer

if TYPE_CHECKING:
    from fuzz.readers import Reader

MEGABYTES, SECONDS = 1024, 60


def main(
    name: Annotated[str, typer.Argument(metavar="READER", help="Its name, or all; any other name lists them.")],
    runs: Annotated[int, typer.Option(help="Executions of each.")] = 200_000,
    seed: int = 1,
    out: Annotated[Path | None, typer.Option(help="For the corpus and what is found; else a new folder.")] = None,
    bombs: Annotated[bool, typer.Option(help="Begin with small input that becomes large, too: it takes long.")] = True,
) -> None:
    """Give a reader so many inputs; a process of its own for each."""
    with atheris.instrument_imports(include=["weft", "yaml", "json", "PIL"]):
        from fuzz.readers import readers

    known, folder, bad = readers(), out or Path(mkdtemp(prefix="fuzz-")), list[str]()
    if name not in (*known, "all"):
        sys.exit(f"fuzz: the readers are {', '.join(known)}")
    for one in known if name == "all" else [name]:
        print(f"fuzzing {one} in {folder / one}", flush=True)
        child = os.fork()
        if not child:
            fuzz(known[one] if bombs else known[one]._replace(bombs=list), folder / one, runs, seed)
        if os.waitpid(child, 0)[1]:
            bad.append(one)
    print(f"not as it should be: {', '.join(bad)}" if bad else "nothing but messages came out")
    sys.exit(bool(bad))


def fuzz(reader: "Reader", folder: Path, runs: int, seed: int) -> None:
    """Until it is done, and with it this process."""
    from fuzz.readers import read_safely

    corpus, work, words = folder / "corpus", folder / "work", folder / "words"
    for place in (corpus, work):
        place.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate([*reader.seeds(work), *reader.bombs()]):
        (corpus / f"seed-{number}").write_bytes(content)
    words.write_text("".join(f'"{escaped(word)}"\n' for word in reader.words))
    options = [f"-runs={runs}", f"-seed={seed}", f"-rss_limit_mb={MEGABYTES + own_megabytes()}", f"-timeout={SECONDS}"]
    options += [f"-artifact_prefix={folder}{os.sep}", "-print_final_stats=1", str(corpus)]
    if reader.words:  # an empty dictionary is refused
        options.append(f"-dict={words}")

    def once(content: bytes) -> None:
        read_safely(reader, work, content)

    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


def escaped(word: bytes) -> str:
    """As the dictionaries of libFuzzer have it."""
    return "".join(f"\\x{byte:02x}" for byte in word)


def own_megabytes() -> int:
    """What this process has taken before it reads anything."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    typer.run(main)
