"""kafka-reassign-partitions: current replicas, and reassignments under way.

Printed by kafka.admin.ReassignPartitionsCommand (up to 3.5) and org.apache.kafka.tools.reassign.ReassignPartitionsCommand (3.6 on).

    Current partition replica assignment                            --generate and --execute
    {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}
    Proposed partition reassignment configuration                   --generate
    {"version":1,"partitions":[...]}
    Current partition reassignments:                                --list
    t-0: replicas: 3,4,1. adding: 3,4. removing: 1.

An entry is a partition, or a message of the tool. A plan is not the state of the cluster: its JSON, and what follows `Proposed`, are rows of
`proposed_reassignment`. What follows `Current` has replicas without leader and ISR, which are compared with the other dumps, and log dirs if
they are not `any`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, broker_ids, identifier, plain_text, topic_name
from jobs.ingest.facts import AssignedReplicas, OngoingReassignment, ProposedReplicas
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
_STATE = re.compile(r'"(?:leader|isr)[a-zA-Z_]{0,9}"\s{0,9}:')  # fields of a partition's state, which a plan does not have
_ANY = "any"  # AlterReplicaLogDirs is not requested: the broker chooses the log dir


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a heading of the tool, or is a plan."""
    is_plan = _PLAN.match(dump.head.lstrip()) is not None and _STATE.search(dump.head) is None
    return is_plan or _KNOWN_BY.search(dump.head) is not None


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
            fact = _proposal(entry, has_partitions="partitions" in document)
            if fact[:2] in seen:
                raise Unreadable("the partition occurs twice" if fact.partition is not None else "the topic occurs twice")
            seen.add(fact[:2])
            if current and fact.partition is not None and fact.replicas is not None:
                yield Parsed(line, entry, AssignedReplicas(fact.topic, fact.partition, fact.replicas, fact.log_dirs))
            else:
                yield Parsed(line, entry, fact)
        except Unreadable as e:
            yield Rejected(line, entry, str(e))


def _proposal(entry: Any, *, has_partitions: bool) -> ProposedReplicas:
    """Parse an element of a plan: a partition with replicas, a partition to elect a leader for, or a topic to move."""
    if not isinstance(entry, dict):
        raise Unreadable("not a JSON object")
    topic = topic_name(entry.get("topic") if isinstance(entry.get("topic"), str) else None)
    if not has_partitions:
        return ProposedReplicas(topic, None, None, None)
    partition = identifier(entry.get("partition"), "partition")
    if "replicas" not in entry:
        return ProposedReplicas(topic, partition, None, None)
    replicas, log_dirs = broker_ids(entry["replicas"], "replicas"), entry.get("log_dirs")
    if not replicas:
        raise Unreadable("replicas is empty")
    if log_dirs is None:
        return ProposedReplicas(topic, partition, replicas, None)
    if not isinstance(log_dirs, list) or len(log_dirs) != len(replicas):
        raise Unreadable("replicas and log_dirs differ in length")
    paths = tuple(None if log_dir == _ANY else plain_text(log_dir, "a log dir") for log_dir in log_dirs)
    return ProposedReplicas(topic, partition, replicas, paths if any(path is not None for path in paths) else None)
