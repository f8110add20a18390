"""Patterns of names in topology-audit.toml: `*` is any text and `?` one character."""

from __future__ import annotations

import re

COLUMNS = {"topics": "topic", "groups": "group_id"}  # the column of a rule's rows that each kind of pattern is compared with
_WILDCARDS = {"*": ".*", "?": "."}


def regular_expression(pattern: str) -> str:
    """Return a pattern as a regular expression for a whole name, which Python and DuckDB (option `s`) both read."""
    return "".join(_WILDCARDS.get(character) or re.escape(character) for character in pattern)


def matches(pattern: str | None, name: str) -> bool:
    """Return whether a name matches a pattern; None matches every name."""
    return pattern is None or re.fullmatch(regular_expression(pattern), name, re.DOTALL) is not None
