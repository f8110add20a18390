"""Names of snapshots, what-ifs and plans, which become folder names and SQL values."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from urllib.parse import quote
from uuid import uuid4

from jobs.errors import AuditError
from jobs.schema.failure import NIGHTLY

# Browsers read both patterns too, in the forms of the DAGs.
SNAPSHOT_PATTERN = r"^[0-9A-Za-z][0-9A-Za-z_.:-]{0,99}$"
# Every run id that Airflow accepts by default ([scheduler] allowed_run_id_pattern, 250 characters), except the folders "." and "..".
ID_PATTERN = r"^(?!\.{1,2}$)[0-9A-Za-z_.~:+-]{1,250}$"

_MAX_FOLDER_BYTES = 255  # the longest folder name of most file systems
_ID_PREFIX = "scenario_set="  # start of the folder of an id's Delta partition; plan_id, the other column of ids, is shorter


def snapshot_name(text: str) -> str:
    """Return the name of a snapshot; raise an AuditError if it is not valid. Later snapshots must sort later."""
    if not re.fullmatch(SNAPSHOT_PATTERN, text):
        raise AuditError(
            f"snapshot name {text!r} is not valid: use up to 100 letters, digits and _ . : -, the first a letter or digit, for example 2026-01-31"
        )
    return text


def storable_id(text: str) -> str:
    """Return the id of a what-if or a plan as it is stored; raise an AuditError if it is not valid.

    An id that is too long for the folder of its Delta partition is shortened.
    """
    if not re.fullmatch(ID_PATTERN, text):
        raise AuditError(f"id {text!r} is not valid: use up to 250 letters, digits and _ . ~ : + -, for example drain-3")
    if text == NIGHTLY:
        raise AuditError(f"id {NIGHTLY!r} is reserved for the failures that a night computes: choose another")
    return _shortened(text, _MAX_FOLDER_BYTES - len(_ID_PREFIX), safe="")


def new_id(kind: str) -> str:
    """Return a new unique id: the kind, the time and a random part."""
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"


def folder_name(text: str) -> str:
    """Return the name of a folder for any text; different texts have different folders."""
    escaped = quote(_shortened(text, _MAX_FOLDER_BYTES, safe=" :+@"), safe=" :+@")
    return escaped.replace(".", "%2E") if escaped in (".", "..") else escaped


def _shortened(text: str, max_bytes: int, *, safe: str) -> str:
    """Return the text, or its start and a hash if its form escaped for a path has more than `max_bytes`."""
    if len(quote(text, safe=safe)) <= max_bytes:
        return text
    end = f"~{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    start = text
    while len(quote(start + end, safe=safe)) > max_bytes:
        start = start[:-1]
    return start + end
