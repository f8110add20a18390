"""Names that become folder names and SQL values: of snapshots, what-ifs and plans. Used by the command, the DAGs and the Python API."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from urllib.parse import quote
from uuid import uuid4

from jobs.errors import AuditError
from jobs.schema.failure import NIGHTLY

# Both patterns are also read by browsers, for the DAGs' forms.
SNAPSHOT_PATTERN = r"^[0-9A-Za-z][0-9A-Za-z_.:-]{0,99}$"
# Every run id that Airflow accepts by default ([scheduler] allowed_run_id_pattern, 250 characters), but "." and "..", which are folders.
ID_PATTERN = r"^(?!\.{1,2}$)[0-9A-Za-z_.~:+-]{1,250}$"

_MAX_FOLDER_BYTES = 255  # of most file systems
_ID_FOLDER = "scenario_set="  # of the Delta partition; the other column of ids, plan_id, has a shorter name


def snapshot_name(text: str) -> str:
    """A snapshot's name, if it is valid: later snapshots must sort later."""
    if not re.fullmatch(SNAPSHOT_PATTERN, text):
        raise AuditError(
            f"snapshot name {text!r} is not valid: use up to 100 letters, digits and _ . : -, the first a letter or digit, such as 2026-01-31"
        )
    return text


def storable_id(text: str) -> str:
    """The id of a what-if or a plan as it is stored, if it is valid: shortened if the folder of its Delta partition had too long a name."""
    if not re.fullmatch(ID_PATTERN, text):
        raise AuditError(f"id {text!r} is not valid: use up to 250 letters, digits and _ . ~ : + -, such as drain-3")
    if text == NIGHTLY:
        raise AuditError(f"id {NIGHTLY!r} is reserved for the failures that a night computes: choose another")
    return _shortened(text, _MAX_FOLDER_BYTES - len(_ID_FOLDER), safe="")


def new_id(kind: str) -> str:
    """An id that nothing else has: the kind, the time and a random part."""
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"


def folder_name(text: str) -> str:
    """Any text as the name of one folder, different for different texts."""
    escaped = quote(_shortened(text, _MAX_FOLDER_BYTES, safe=" :+@"), safe=" :+@")
    return escaped.replace(".", "%2E") if escaped in (".", "..") else escaped


def _shortened(text: str, most_bytes: int, *, safe: str) -> str:
    """The text, or its start and a hash if it is longer than that once escaped for a path."""
    if len(quote(text, safe=safe)) <= most_bytes:
        return text
    end = f"~{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    start = text
    while len(quote(start + end, safe=safe)) > most_bytes:
        start = start[:-1]
    return start + end
