"""Audits of texts that exist already: files of any common layout against the constraints they come with.

>>> from pathlib import Path
>>> from riftk.auditing import Audit, Reader, judge, read_records
>>> audit, reader = Audit(), Reader()
>>> for where, record in read_records(Path("train.parquet")):  # doctest: +SKIP
...     case = reader.case(record)
...     audit.add(case, judge(case, ("reasonif", "robust")), where)
>>> audit.to_dict()["rows"]
0
"""

from __future__ import annotations

from riftk.constraints import register

from .audit import Audit, Judged, judge, known_rules
from .layouts import Case, Columns, Reader
from .records import read_records
from .run import check_file, constraint_specs

__all__ = [
    "Audit",
    "Case",
    "Columns",
    "Judged",
    "Reader",
    "check_file",
    "constraint_specs",
    "judge",
    "known_rules",
    "read_records",
    "register",
]
