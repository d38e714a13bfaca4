"""What every exported folder contains besides the model: tokenizers, settings.json, model.py, translate.py,
README.md.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.checkpoints.model_folder import ModelFolder
from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder
from weft.inference.export import standalone

README_TEMPLATE = """# A translation model for {library}

Made by `weft export`. It needs neither Weft nor torch:

    pip install {packages}
    python translate.py < input.txt > output.txt

From Python, in this folder:

```python
from model import Model

print(Model().translate(["A line.", "Another line."]))
```

{details}
{differences}"""
DIFFERENCES_TEMPLATE = """
`weft translate` does more with this model, so that its outputs may differ. translate.py does not support:

{listed}
"""


def raise_unsupported(model: ModelFolder, library: str, reasons: Sequence[str]) -> None:
    """Raise UserError with all reasons why a model cannot be exported, if there are any."""
    if reasons:
        listed = "\n".join(f"  {reason}" for reason in reasons)
        raise UserError(f"{model.path}: cannot be exported to {library}:\n{listed}")


@contextmanager
def export_folder(out: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, which gets its name when it is complete."""
    check_new_folder(out, ", and is not empty: give another --out, or remove it.", "--out")
    with new_folder(out) as new:
        yield new


def format_readme(library: str, packages: str, details: str, differences: Sequence[str]) -> str:
    """differences: what Weft does and the exported program does not."""
    listed = "\n".join(f"- {difference}" for difference in differences)
    section = DIFFERENCES_TEMPLATE.format(listed=listed) if differences else ""
    return README_TEMPLATE.format(library=library, packages=packages, details=details, differences=section)


def write_bundle_files(folder: Path, model: ModelFolder, program: str, search: Mapping[str, Any], readme: str) -> None:
    """Write the tokenizers, settings.json with these search settings, the programs, and the README.

    program: the name of the standalone program that runs the model.
    """
    model.source.save(folder / "source.json")
    model.target.save(folder / "target.json")
    translate = model.config["translate"]
    settings = {
        "max_source_length": model.max_source_length,
        "max_target_length": model.max_target_length,
        "max_length_factor": translate["max_length_factor"],
        "max_length_extra": translate["max_length_extra"],
        "backward": model.target.order == "backward",
        **search,
    }
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
    (programs,) = standalone.__path__
    shutil.copyfile(Path(programs) / f"{program}.py", folder / "model.py")
    shutil.copyfile(Path(programs) / "line_program.py", folder / "translate.py")
    (folder / "README.md").write_text(readme, "utf-8")
