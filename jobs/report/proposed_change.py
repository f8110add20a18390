"""The result of check-change, for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from jobs.report.tables import empty_table

if TYPE_CHECKING:
    from jobs.plan.proposed_change import ChangedFailure, CheckedChange, HarmedPartition

_COLUMNS = {"lost": "data lost", "unclean_leader": "out-of-sync leader", "offline": "offline", "refusing_acks_all": "refuse acks=all"}
_MOST_ROWS = 12


def proposed_change_report(checked: CheckedChange) -> list[RenderableType]:
    """Return the parts of the report: what changes, the verdict, each failure that changes, and reassignments that cannot complete."""
    return [part for part in (Text(f"{_summary(checked)}\n", "bold"), *_incomplete(checked), *_failures(checked))]


def _summary(checked: CheckedChange) -> str:
    changed = f"Cluster {checked.cluster_id} of {checked.snapshot_id}: {_count(checked.changed_partitions, 'partition')} would change."
    if not checked.failures:
        return f"{changed} No failure harms more or fewer partitions."
    numbers = {"worse": len(checked.worse), "better": len(checked.failures) - len(checked.worse)}
    verdicts = [f"{_count(number, 'failure')} {verdict}" for verdict, number in numbers.items() if number]
    return f"{changed} {' and '.join(verdicts)}."


def _incomplete(checked: CheckedChange) -> Iterator[Text]:
    if checked.incomplete:
        key, reason = next(iter(checked.incomplete.items()))
        yield Text(
            f"{_count(len(checked.incomplete), 'reassignment')} cannot complete, for example {key.topic}-{key.partition}: {reason}. "
            "Below, these partitions keep their replicas.\n",
            "red",
        )


def _failures(checked: CheckedChange) -> Iterator[RenderableType]:
    if not checked.failures:
        return
    table = empty_table("Partitions after each failure, without and with the change")
    table.add_column("failure", overflow="fold")
    for heading in _COLUMNS.values():
        table.add_column(heading, justify="right")
    table.add_column("for example", overflow="fold")
    for changed in checked.failures[:_MOST_ROWS]:
        cells = map(_cell, changed.before, changed.after)
        table.add_row(Text(changed.scenario_id), *cells, Text(_example(changed)))
    yield table
    if len(checked.failures) > _MOST_ROWS:
        yield Text(f"{len(checked.failures) - _MOST_ROWS} more: --format json has all of them.")


def _cell(before: int, after: int) -> Text:
    style = "red" if after > before else "green" if after < before else "dim"
    return Text(f"{before} → {after}" if before != after else str(before), style)


def _example(changed: ChangedFailure) -> str:
    """Return the partition whose harm the change increases most, or decreases most if the failure does not get worse."""
    if not changed.partitions:
        return ""
    first = (max if changed.worse else min)(changed.partitions, key=_harm_added)
    more = f" and {len(changed.partitions) - 1} more" if len(changed.partitions) > 1 else ""
    return f"{first.topic}-{first.partition}{more}"


def _harm_added(partition: HarmedPartition) -> tuple[int, ...]:
    return tuple(after - before for before, after in zip(partition.before, partition.after, strict=True))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def proposed_change_json(checked: CheckedChange) -> str:
    """Return the whole result as JSON."""
    document = {
        "snapshot_id": checked.snapshot_id,
        "cluster_id": checked.cluster_id,
        "worse": bool(checked.worse),
        "changed_partitions": checked.changed_partitions,
        "incomplete": [{**key._asdict(), "reason": reason} for key, reason in checked.incomplete.items()],
        "failures": [_failure_json(changed) for changed in checked.failures],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _failure_json(changed: ChangedFailure) -> dict[str, Any]:
    return {
        "scenario_id": changed.scenario_id,
        "kind": changed.kind,
        "brokers": list(changed.brokers),
        "worse": changed.worse,
        "before": changed.before._asdict(),
        "after": changed.after._asdict(),
        "partitions": [
            {"topic": each.topic, "partition": each.partition, "before": each.before._asdict(), "after": each.after._asdict()}
            for each in changed.partitions
        ],
    }
