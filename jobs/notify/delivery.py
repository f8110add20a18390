"""Send the messages of a night through Apprise, and record them, so that a rerun sends none of them again."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from jobs.errors import AuditError
from jobs.lake.lake import Lake
from jobs.lake.selection import Attempt
from jobs.notify.changes import cluster_changes
from jobs.notify.message import Message, night_message, owner_message
from jobs.report.rows import rows
from jobs.report.survival import survivals
from jobs.schema import NOTIFICATION

if TYPE_CHECKING:
    from apprise import NotifyBase

    from jobs.views import DuckdbViews


@dataclass(frozen=True, slots=True)
class Recipient:
    """Who gets a message.

    `name` is for people, and `id` is stored: neither contains the URL, which may have a password. An `owner` gets only the findings of that owner.
    """

    id: str
    name: str
    url: str
    owner: str | None = None


class Delivery(NamedTuple):
    """What became of the messages of a night: the names of recipients, and for those that got none, why."""

    sent: list[str]
    already_sent: list[str]
    failed: dict[str, str]


def recipients(urls: Sequence[str], option: str) -> list[Recipient]:
    """Return the recipients of `--to` or `--notify`; raise an AuditError for a URL that Apprise does not know."""
    found = []
    for number, url in enumerate(urls, start=1):
        service = _service(url)
        if service is None:
            raise AuditError(f"URL {number} of {option} is not valid for any service of Apprise: see https://appriseit.com/services/")
        id = f"url {hashlib.sha256(url.encode()).hexdigest()[:16]}"
        found.append(Recipient(id, f"URL {number} of {option} ({service.service_name})", url))
    return found


def owner_recipients(connection: DuckdbViews, snapshot_id: str) -> list[Recipient]:
    """Return the owners of a night whose contact is a URL, or `$NAME`: the environment variable NAME then contains it."""
    query = "SELECT DISTINCT owner, contact FROM owner WHERE snapshot_id = ? ORDER BY 1"
    contacts = {row["owner"]: row["contact"] or "" for row in rows(connection, query, [snapshot_id])}
    return [
        Recipient(f"owner {owner}", f"owner {owner}", contact, owner)
        for owner, contact in contacts.items()
        if contact.startswith("$") or "://" in contact
    ]


def deliver(lake: Lake, connection: DuckdbViews, snapshot_id: str, to: Sequence[Recipient]) -> Delivery:
    """Send what changed in a published night to each recipient that has not got the same message about this night.

    A message is recorded when it is sent; one that cannot be sent is not.
    """
    delivery = Delivery([], [], {})
    messages = _messages(connection, snapshot_id, to)
    if not messages:
        return delivery
    lake.create(NOTIFICATION)
    attempt = _published_attempt(connection, snapshot_id)
    earlier = {
        (row["recipient"], row["digest"]): row["sent_at"] for row in lake.read_local(NOTIFICATION, snapshot_id=snapshot_id).to_pylist()
    }
    for recipient, message in messages:
        sent_at = earlier.get((recipient.id, message.digest))
        error = None if sent_at else _send(recipient.url, message)
        if error:
            delivery.failed[recipient.name] = error
            continue
        # A rerun records the message for its own attempt, since maintenance deletes the rows of superseded ones.
        _record(lake, attempt, recipient, message, sent_at or datetime.now(UTC))
        (delivery.already_sent if sent_at else delivery.sent).append(recipient.name)
    return delivery


def _messages(connection: DuckdbViews, snapshot_id: str, to: Sequence[Recipient]) -> list[tuple[Recipient, Message]]:
    changes = cluster_changes(connection, snapshot_id)
    if not changes:
        return []
    fatal = any(each.newly_fatal for each in changes)
    known = {survival.cluster_id: survival for survival in survivals(connection, snapshot_id)} if fatal else {}
    night = "SELECT cluster_id FROM snapshot WHERE snapshot_id = ? UNION SELECT cluster_id FROM absent_cluster WHERE snapshot_id = ?"
    whole = night_message(snapshot_id, len(rows(connection, night, [snapshot_id, snapshot_id])), changes, known)
    messages = ((each, owner_message(snapshot_id, each.owner, changes) if each.owner else whole) for each in to)
    return [(recipient, message) for recipient, message in messages if message]


def _published_attempt(connection: DuckdbViews, snapshot_id: str) -> Attempt:
    """Return the attempt that readers see, of a night that may have absent clusters only."""
    query = "SELECT attempt_id FROM snapshot WHERE snapshot_id = ? UNION SELECT attempt_id FROM absent_cluster WHERE snapshot_id = ?"
    [row] = rows(connection, query, [snapshot_id, snapshot_id])
    return Attempt(snapshot_id, row["attempt_id"])


def _record(lake: Lake, attempt: Attempt, recipient: Recipient, message: Message, sent_at: datetime) -> None:
    key = {**attempt._asdict(), "recipient": recipient.id, "digest": message.digest}
    lake.replace(
        NOTIFICATION, pa.Table.from_pylist([{**key, "title": message.title, "sent_at": sent_at}], NOTIFICATION.stored.schema), **key
    )


def _send(url: str, message: Message) -> str | None:
    """Send a message, and return None or why it was not sent, without the parts of the URL."""
    from apprise import NotifyFormat, NotifyType

    if url.startswith("$") and url[1:] not in os.environ:
        return f"its contact {url} is not set in the environment"
    url = os.environ[url[1:]] if url.startswith("$") else url
    service = _service(url)
    if service is None:
        return "its contact is not valid for any service of Apprise"
    with _warnings() as reasons:
        type = NotifyType.WARNING if message.is_bad else NotifyType.SUCCESS
        if service.notify(message.body, title=message.title, notify_type=type, body_format=NotifyFormat.TEXT):
            return None
    return _without_secrets(reasons[0] if reasons else "the service did not accept it", url)


def _service(url: str) -> NotifyBase | None:
    """Return Apprise's service of a URL, or None if the URL is not valid."""
    from apprise import Apprise

    with _warnings():
        return Apprise.instantiate(url)


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect Apprise's warnings in place of printing them."""
    collected: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            collected.append(" ".join(record.getMessage().split()))

    logger, handler = logging.getLogger("apprise"), Collector(logging.WARNING)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield collected
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _without_secrets(text: str, url: str) -> str:
    """Replace each part of a URL in a text: every part may be a password or a token."""
    _, _, address = url.partition("://")
    parts = {part for whole in (address, unquote(address)) for part in re.split(r"[/:@?&=,]+", whole) if len(part) > 2}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, "***")
    return text
