"""Commands of `riftk` that have a module of their own; `riftk.cli` puts them together."""
