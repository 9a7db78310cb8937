"""Reports: what changed between evaluations of the same items, as data, tables, pictures and a page."""

from __future__ import annotations

from riftk.report.comparison import compare
from riftk.report.several import write_comparison
from riftk.report.traces import Limits
from riftk.report.write import write_report

__all__ = ["Limits", "compare", "write_comparison", "write_report"]
