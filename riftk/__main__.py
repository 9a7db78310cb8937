"""The `riftk` command, and one sentence instead of a traceback where a library that it needs is missing."""

from __future__ import annotations

import sys

# Which extra of riftk brings a library; see `[project.optional-dependencies]` in pyproject.toml.
_EXTRAS = {
    **dict.fromkeys(("typer", "rich", "yaml", "numpy", "packaging"), "cli"),
    **dict.fromkeys(
        ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "tokenizers", "pyarrow", "jinja2"),
        "train",
    ),
    "matplotlib": "report",
    **dict.fromkeys(("openai", "tenacity"), "openai"),
    "vllm": "vllm",
    "deepspeed": "deepspeed",
}


def main() -> None:
    """Entry point of the script `riftk` and of `python -m riftk`."""
    try:
        from riftk.cli import main as run

        run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        print(f"riftk: this needs {missing}: pip install 'riftk[{_EXTRAS[missing]}]'", file=sys.stderr)
        sys.exit(2)
    except ValueError as error:  # of a module that RIFTK_REGISTER names; all others `run` has dealt with
        print(f"riftk: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
