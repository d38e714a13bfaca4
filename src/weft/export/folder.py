"""What every exported folder has beside the model: tokenizers, settings, a program and how it is used.

source.json   target.json    the tokenizers, as the library `tokenizers` reads them
settings.json                limits of lines and outputs, and what decides in the search
model.py                     the model from Python; it needs neither Weft nor torch
translate.py                 a program that translates standard input with it
README.md
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.export import programs
from weft.export.described import Described
from weft.store.new_folders import check_free, new_folder

README = """# A translation model for {library}

Made by `weft export`. It needs neither Weft nor torch:

    pip install {packages}
    python translate.py < input.txt > output.txt

From Python, in this folder:

```python
from model import Model

print(Model().translate(["A line.", "Another line."]))
```

{told}
{unlike}"""
UNLIKE = """
`weft translate` does more with this model, so that now and then it says something else. What translate.py leaves out:

{listed}
"""


@contextmanager
def exported(out: Path) -> Iterator[Path]:
    """An empty folder to fill, which stands under its name when it is whole."""
    check_free(out, ", and holds something: give another --out, or remove it.", "--out")
    with new_folder(out) as new:
        yield new


def readme_of(library: str, packages: str, told: str, unlike: Sequence[str]) -> str:
    """What a person should know. unlike: what Weft does and the program does not."""
    listed = "\n".join(f"- {reason}" for reason in unlike)
    return README.format(
        library=library, packages=packages, told=told, unlike=UNLIKE.format(listed=listed) if unlike else ""
    )


def save_texts(folder: Path, described: Described, program: str, search: Mapping[str, Any], readme: str) -> None:
    """The tokenizers, the settings, those of the search too, the programs, and their README.

    program: the name of the one that runs the model.
    """
    described.source.save(folder / "source.json")
    described.target.save(folder / "target.json")
    settings = json.dumps({**limits_of(described), **search}, indent=2)
    (folder / "settings.json").write_text(f"{settings}\n", "utf-8")
    (here,) = programs.__path__
    shutil.copyfile(Path(here) / f"{program}.py", folder / "model.py")
    shutil.copyfile(Path(here) / "translate.py", folder / "translate.py")
    (folder / "README.md").write_text(readme, "utf-8")


def limits_of(described: Described) -> dict[str, Any]:
    """What decides how far a line is read and an output goes, and from which side."""
    translate = described.config["translate"]
    return {
        "source_limit": described.source_limit(),
        "target_limit": described.target_limit(),
        "length_factor": translate["length_factor"],
        "length_extra": translate["length_extra"],
        "backward": described.target.order == "backward",
    }
