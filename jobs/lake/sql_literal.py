"""String literals of SQL dialects, for any text."""

from __future__ import annotations

import re


def standard_literal(text: str) -> str:
    """Return a literal of standard SQL, in which only the quote is escaped: for DuckDB, and for DataFusion, which delta-rs uses."""
    return "'" + text.replace("'", "''") + "'"


def spark_literal(text: str) -> str:
    """Return a literal of Spark's SQL, with all but plain characters as code points.

    Spark unescapes backslashes, and replaces ${variables} anywhere in SQL text.
    """
    return "'" + re.sub(r"[^0-9A-Za-z _.,:;+-]", lambda match: f"\\U{ord(match[0]):08X}", text) + "'"
