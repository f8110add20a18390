"""kafka-reassign-partitions: current replicas, and reassignments under way.

Printed by kafka.admin.ReassignPartitionsCommand (up to 3.5) and org.apache.kafka.tools.reassign.ReassignPartitionsCommand (3.6 on).

    Current partition replica assignment                            --generate and --execute
    {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}
    Proposed partition reassignment configuration                   --generate
    {"version":1,"partitions":[...]}
    Current partition reassignments:                                --list
    t-0: replicas: 3,4,1. adding: 3,4. removing: 1.

An entry is a partition, or a message of the tool. A plan is not the state of the cluster: its JSON, and what follows `Proposed`, is validated
but not used. What follows `Current` has replicas without leader and ISR, which are compared with the other dumps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, broker_ids, identifier, topic_name
from jobs.ingest.facts import AssignedReplicas, OngoingReassignment
from jobs.ingest.precedence import Precedence

NAME = "kafka-reassign-partitions"
PRECEDENCE = Precedence.KAFKA_TOOL

_CURRENT = "Current partition replica assignment"
_MESSAGE = re.compile(
    "|".join(
        (
            _CURRENT,
            r"Proposed partition reassignment configuration:?",
            r"Save this to use as the --reassignment-json-file option during rollback",
            r"Warning: You must run --verify periodically.*",
            r"The (?:inter-broker|replica-alter-dir) throttle limit was set to [0-9]+ B/s",
            r"Successfully (?:started|cancelled) (?:partition )?reassignments?(?: of partitions)? .*",
            r"Current partition reassignments:",
            r"No partition reassignments found\.",
            r"Status of partition reassignment:",
            r"Reassignment of (?:partition|replica) .*",
            r"There is no active reassignment of partition .*",
            r"Clearing (?:broker|topic)-level throttles on .*",
            r"Successfully started moving log directory to .*",
            r"None of the specified partition reassignments are active\.",
        )
    )
)
_LISTED = re.compile(r"([A-Za-z0-9._-]{1,249})-([0-9]{1,10}): replicas: ([0-9,]+)\.(?: adding: ([0-9,]+)\.)?(?: removing: ([0-9,]+)\.)?")
_KNOWN_BY = re.compile(
    rf"^(?:{_CURRENT}|Proposed partition reassignment configuration|Current partition reassignments:|No partition reassignments found\.|"
    r"Status of partition reassignment:)[ \t\r]*$",
    re.MULTILINE,
)
_PLAN = re.compile(
    r'\{\s{0,99}(?:"version"\s{0,9}:\s{0,9}[0-9]{1,9}\s{0,9},\s{0,99})?"(?:partitions|topics)"\s{0,9}:\s{0,9}\['
    r'\s{0,99}(?:\{\s{0,99}"(?:topic|partition|replicas|log_dirs)"\s{0,9}:|\])'
)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a heading of the tool, or is a plan."""
    return _KNOWN_BY.search(dump.head) is not None or _PLAN.match(dump.head.lstrip()) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each partition of the current assignment, and for each that is being reassigned."""
    is_current, position = False, 0
    line = 1
    while position < len(dump.text):
        newline = dump.text.find("\n", position)
        text = dump.text[position : newline if newline >= 0 else len(dump.text)].strip()
        if text.startswith("{"):
            try:
                document, document_end = json.JSONDecoder().raw_decode(dump.text, dump.text.index("{", position))
            except (ValueError, RecursionError) as e:
                yield Rejected(line, text, f"not JSON: {e}")
            else:
                yield from _plan(document, line, current=is_current)
                line += dump.text.count("\n", position, document_end)
                position = document_end
                continue
        elif text:
            yield _message(text, line)
            is_current = text == _CURRENT
        if newline < 0:
            break
        position, line = newline + 1, line + 1


def _message(text: str, line: int) -> Parsed | Rejected:
    try:
        if match := _LISTED.fullmatch(text):
            topic, partition, *lists = match.groups()
            replicas, adding, removing = (broker_ids(ids.split(",") if ids else [], "the line") for ids in lists)
            return Parsed(
                line, text, OngoingReassignment(topic_name(topic), identifier(partition, "the partition"), replicas, adding, removing)
            )
        if _MESSAGE.fullmatch(text):
            return Parsed(line, text, None)
        raise Unreadable("neither a message of the tool nor its JSON")
    except Unreadable as e:
        return Rejected(line, text, str(e))


def _plan(document: Any, line: int, *, current: bool) -> Iterator[Parsed | Rejected]:
    if document.get("version", 1) != 1:
        yield Rejected(line, document, "only version 1 of a plan is known")
        return
    entries = document.get("partitions", document.get("topics"))
    if not isinstance(entries, list):
        yield Rejected(line, document, "partitions is not a list")
        return
    seen = set()
    for entry in entries:
        try:
            if not isinstance(entry, dict):
                raise Unreadable("not a JSON object")
            topic = topic_name(entry.get("topic") if isinstance(entry.get("topic"), str) else None)
            if "partitions" not in document or "replicas" not in entry:  # topics to move, or partitions to elect for
                yield Parsed(line, entry, None)
                continue
            fact = AssignedReplicas(topic, identifier(entry.get("partition"), "partition"), broker_ids(entry["replicas"], "replicas"))
            log_dirs = entry.get("log_dirs")
            if not fact.replicas or (log_dirs is not None and (not isinstance(log_dirs, list) or len(log_dirs) != len(fact.replicas))):
                raise Unreadable("replicas and log_dirs differ in length" if fact.replicas else "replicas is empty")
            if fact[:2] in seen:
                raise Unreadable("the partition occurs twice")
            seen.add(fact[:2])
            yield Parsed(line, entry, fact if current else None)
        except Unreadable as e:
            yield Rejected(line, entry, str(e))
