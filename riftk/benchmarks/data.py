"""Where the published files of a benchmark come from: a folder, or the hub at a revision."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.rows import RowError, read_jsonl

Records = list[dict[str, Any]]


def from_folder(folder: Path, names: Sequence[str], parts: Sequence[str] = ()) -> tuple[Records, str]:
    """Records of the first of `names` that a folder holds, or of all `parts` one after the other.

    Returns:
        The records and what to call their origin.

    Raises:
        FileNotFoundError: there is neither.
    """
    if folder.is_file():
        raise FileNotFoundError(f"{folder} is a file; give the folder that it is in")
    for name in names:
        if (folder / name).is_file():
            return list(_read(folder / name)), f"file {name}"
    if parts and all((folder / part).is_file() for part in parts):
        records = [record for part in parts for record in _read(folder / part)]
        return records, f"files {parts[0]} … {parts[-1]}"
    also = f" nor {len(parts)} files {parts[0]} … {parts[-1]}" if parts else ""
    raise FileNotFoundError(f"{folder} holds neither {' nor '.join(names)}{also}")


def from_hub(repository: str, names: Sequence[str], revision: str | None, advice: str) -> tuple[Records, str]:
    """Records of files of a data set on the hub.

    Args:
        repository: id of the data set.
        names: its files, in order.
        revision: commit, tag or branch; None is "main".
        advice: what to do where the hub cannot be read.

    Returns:
        The records and their origin, with the commit that was read.

    Raises:
        FileNotFoundError: offline, gated, no such data set, file or revision.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import GatedRepoError, HfHubHTTPError
    except ImportError as error:
        raise FileNotFoundError(f"the hub needs pip install huggingface_hub; {advice}") from error
    records: Records = []
    commit = revision or "main"
    for name in names:
        try:
            path = Path(hf_hub_download(repository, name, repo_type="dataset", revision=revision))
        except GatedRepoError as error:
            raise FileNotFoundError(
                f"{repository} asks for your consent: give it on https://huggingface.co/datasets/"
                f"{repository}, log in with `hf auth login`, and start again ({_first_line(error)})"
            ) from error
        except (OSError, HfHubHTTPError, ValueError) as error:
            raise FileNotFoundError(
                f"{repository} could not be read from the hub ({_first_line(error)}); {advice}"
            ) from error
        records += _read(path)
        if len(path.parents) > 1 and path.parent.parent.name == "snapshots":
            commit = path.parent.name
    return records, f"{repository}@{commit}"


def from_hub_table(
    repository: str, config: str | None, split: str, revision: str | None, advice: str
) -> tuple[Records, str]:
    """Records of a data set on the hub that is read through the package `datasets`.

    Args:
        repository: id of the data set.
        config: its configuration; None is the only one.
        split: its split.
        revision: commit, tag or branch; None is "main".
        advice: what to do where the hub cannot be read.

    Returns:
        The records and their origin, with the commit that was read where the package says it.

    Raises:
        FileNotFoundError: offline, gated, no such data set, configuration, split or revision.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise FileNotFoundError(f"the hub needs pip install datasets; {advice}") from error
    try:
        data = load_dataset(repository, config, split=split, revision=revision)
    except (OSError, ValueError) as error:  # ValueError: no such configuration, split, or cache offline
        raise FileNotFoundError(
            f"{repository} could not be read from the hub ({_first_line(error)}); {advice}"
        ) from error
    commit = re.search(r"@([0-9a-f]{40})/", " ".join(data.info.download_checksums or ()))
    return list(data), f"{repository}@{commit[1] if commit else revision or 'main'}"


def fingerprint(
    records: Iterable[Mapping[str, Any]], columns: Sequence[str], args: str = "constraint_args"
) -> str:
    """Hash of what the records ask, whatever file format they come from.

    Args:
        records: rows of the file.
        columns: what is hashed of each.
        args: the column with the constraints' arguments, a list; "" where there are no constraints.
    """
    digest = hashlib.sha256()
    for record in records:
        asked: list[Any] = [record[name] for name in columns]
        if args:
            asked.append([without_padding(given) for given in record[args]])
        digest.update(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest()


def without_padding(args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Arguments without the nulls that Arrow pads them with."""
    return {key: value for key, value in (args or {}).items() if value is not None}


def check_columns(records: Iterable[Mapping[str, Any]], columns: Sequence[str], where: str) -> None:
    """Raise `RowError` where a record lacks a column."""
    for number, record in enumerate(records, 1):
        missing = [name for name in columns if name not in record]
        if missing:
            raise RowError(f"{where}, row {number}: column {missing[0]!r} is missing")


def check_hub(sha: str, published: str, origin: str, revision: str | None) -> None:
    """Refuse data of the hub that is not what was published, unless a revision was asked for by name.

    The hash of the content pins the data set: "main" may move, and nothing is evaluated on rows that have
    changed without anybody noticing.

    Raises:
        ValueError: the content is another one.
    """
    if sha != published and revision is None:
        raise ValueError(
            f"{origin} is not the data set that was published (its content has hash {sha[:12]}, not "
            f"{published[:12]}); take the published files as --data-dir, or name the revision that you want"
        )


def _read(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return read_jsonl(path)
    return iter(json.loads(path.read_text(encoding="utf-8")))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
