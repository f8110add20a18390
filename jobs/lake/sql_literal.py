"""Any text as a string literal of SQL, a function for each dialect."""

from __future__ import annotations

import re


def standard_literal(text: str) -> str:
    """A literal of standard SQL, in which only the quote is special: for DuckDB, and for DataFusion, which delta-rs asks."""
    return "'" + text.replace("'", "''") + "'"


def spark_literal(text: str) -> str:
    """A literal of Spark's SQL. Spark unescapes backslashes, and replaces ${variables} in any SQL text, so that all but plain characters
    are written as code points.
    """
    return "'" + re.sub(r"[^0-9A-Za-z _.,:;+-]", lambda match: f"\\U{ord(match[0]):08X}", text) + "'"
