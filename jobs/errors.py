"""The one error that a user is meant to read."""


class AuditError(Exception):
    """What is wrong, where, and what to do about it, in one line: the command prints it and exits with 1."""
