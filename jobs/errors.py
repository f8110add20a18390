"""The errors that a user reads, and the exit codes of the command. The README's table of exit codes lists all of them."""

from __future__ import annotations

from typing import ClassVar


class AuditError(Exception):
    """One line that states what is wrong, where, and what to do about it. The command prints it and exits with `exit_code`."""

    exit_code: ClassVar[int] = 1


class IncompleteNight(AuditError):
    """The night has run to its end, but at least one cluster is absent: it has no folder, nothing readable, or is withheld."""

    exit_code = 3


class NoSuchPlan(AuditError):
    """What a plan was asked for cannot be done, or every plan that does it makes something worse."""

    exit_code = 4


class NothingReadable(AuditError):
    """No cluster of the source has one readable file; running it again on the same files would not change that."""

    exit_code = 5
