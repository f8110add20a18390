"""The lock that a run holds while it writes to a lake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from jobs.errors import AuditError


@contextmanager
def file_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raises an AuditError if another process of this machine holds it or the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".writer.lock", timeout=0):
            yield
    except Timeout:
        raise AuditError(f"another run is writing to the lake {folder}: wait for it to end, then run again") from None
    except OSError as error:
        raise AuditError(f"cannot write to the lake {folder}: {error.strerror or error}") from None
