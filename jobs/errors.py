"""Errors with a message for users, and their exit codes. The README has a table of all exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class AuditError(Exception):
    """An error whose message is one line: what is wrong, where, and what to do. The command prints it and exits with `exit_code`."""

    exit_code: ClassVar[int] = 1


class IncompleteNight(AuditError):
    """The night has ended, but at least one cluster is absent: its folder is missing, has no readable file, or the cluster is withheld."""

    exit_code = 3


class NoSuchPlan(AuditError):
    """A plan or a proposed change cannot be completed, or makes something worse."""

    exit_code = 4


class NothingReadable(AuditError):
    """No cluster of the source has a readable file. A retry on the same files would fail again."""

    exit_code = 5


class FailOn(AuditError):
    """The night is published, but a condition of --fail-on is fulfilled."""

    exit_code = 6


class NotSent(AuditError):
    """The night is published, but a message about it could not be sent."""

    exit_code = 7


def listed(names: Iterable[object]) -> str:
    """Return distinct names in order, for an error message."""
    return ", ".join(str(name) for name in sorted(set(names), key=str)) or "none"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for an error message if some known name is similar, otherwise an empty text."""
    near = get_close_matches(name, dict.fromkeys(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
