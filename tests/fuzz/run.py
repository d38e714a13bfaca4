"""Fuzz the readers with atheris, a coverage-guided fuzzer (extra `fuzz`).

From the root of the repository, with `tests` on the path:

    PYTHONPATH=tests python -m fuzz.run tokenizer --runs 200000
    PYTHONPATH=tests python -m fuzz.run all --runs 200000

It prints executions and coverage (`cov`), stops at an input that takes more than 1 GB or a minute, and exits with
code 0 if nothing but UserError was raised. The printed folder holds the corpus and failing inputs as `crash-...`,
`oom-...` or `timeout-...`.
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
    name: Annotated[
        str, typer.Argument(metavar="READER", help="Name of a reader, or all; an unknown name lists them.")
    ],
    runs: Annotated[int, typer.Option(help="Executions of each reader.")] = 200_000,
    seed: int = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for corpus and failing inputs; default: a new one.")] = None,
    bombs: Annotated[bool, typer.Option(help="Also start with small inputs that expand to large ones (slow).")] = True,
) -> None:
    """Fuzz readers, each in a process of its own."""
    with atheris.instrument_imports(include=["weft", "yaml", "json", "PIL"]):
        from fuzz.readers import readers

    all_readers, folder, failed = readers(), out or Path(mkdtemp(prefix="fuzz-")), list[str]()
    if name not in (*all_readers, "all"):
        sys.exit(f"fuzz: the readers are {', '.join(all_readers)}")
    for reader in all_readers if name == "all" else [name]:
        print(f"fuzzing {reader} in {folder / reader}", flush=True)
        child = os.fork()
        if not child:
            fuzz(
                all_readers[reader] if bombs else all_readers[reader]._replace(bombs=list), folder / reader, runs, seed
            )
        if os.waitpid(child, 0)[1]:
            failed.append(reader)
    print(f"failed: {', '.join(failed)}" if failed else "every input was read or refused with a message")
    sys.exit(bool(failed))


def fuzz(reader: "Reader", folder: Path, runs: int, seed: int) -> None:
    """Fuzz a reader; ends this process."""
    from fuzz.readers import read_safely

    corpus, work, words = folder / "corpus", folder / "work", folder / "words"
    for path in (corpus, work):
        path.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate([*reader.seeds(work), *reader.bombs()]):
        (corpus / f"seed-{number}").write_bytes(content)
    words.write_text("".join(f'"{escaped(word)}"\n' for word in reader.words))
    options = [
        f"-runs={runs}",
        f"-seed={seed}",
        f"-rss_limit_mb={MEGABYTES + current_megabytes()}",
        f"-timeout={SECONDS}",
    ]
    options += [f"-artifact_prefix={folder}{os.sep}", "-print_final_stats=1", str(corpus)]
    if reader.words:  # libFuzzer refuses an empty dictionary
        options.append(f"-dict={words}")

    def read(content: bytes) -> None:
        read_safely(reader, work, content)

    atheris.Setup([sys.argv[0], *options], read)
    atheris.Fuzz()


def escaped(word: bytes) -> str:
    """Escape a word for a libFuzzer dictionary."""
    return "".join(f"\\x{byte:02x}" for byte in word)


def current_megabytes() -> int:
    """Return the memory use of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    typer.run(main)
