"""Reports: what changed between two evaluations of the same items, as data, tables and a picture."""

from __future__ import annotations

from riftk.report.comparison import compare
from riftk.report.write import write_report

__all__ = ["compare", "write_report"]
