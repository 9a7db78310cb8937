"""Where a model name or a file name points to: a local path, a file inside a package, or the hub."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

PACKAGE_SCHEME = "pkg://"
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def resolve(name: str) -> str:
    """Return what `from_pretrained` or `open` can load.

    Args:
        name: a local path, `pkg://package.name/path/in/package`, or a hub id such as `Qwen/Qwen3-8B`.

    Raises:
        FileNotFoundError: a package file or a local path that does not exist.
    """
    if name.startswith(PACKAGE_SCHEME):
        package, _, inner = name.removeprefix(PACKAGE_SCHEME).partition("/")
        try:
            path = Path(str(files(package))) / inner
        except ModuleNotFoundError as error:
            raise FileNotFoundError(f"{name}: there is no package {package!r}") from error
        if not path.exists():
            raise FileNotFoundError(f"{name}: no such file in the package {package!r}")
        return str(path)
    if Path(name).exists():
        return name
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or not _HUB_ID.fullmatch(name):
        raise FileNotFoundError(f"{name} does not exist; give a folder, a hub id or pkg://package/path")
    return name


def final_model(name: str) -> str:
    """The trained model where `name` is the run folder of a recipe, else `name` as it is.

    Raises:
        FileNotFoundError: a run folder whose training is not finished.
    """
    folder = Path(name)
    if not (folder / "config.yaml").is_file() or (folder / "config.json").is_file():
        return name
    if not (folder / "final").is_dir():
        raise FileNotFoundError(f"the run {name} holds no trained model; finish its training first")
    return str(folder / "final")
