"""kafka-reassign-partitions (kafka.admin.ReassignPartitionsCommand, org.apache.kafka.tools.reassign.ReassignPartitionsCommand since 3.6).

    Current partition replica assignment                            --generate and --execute
    {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}
    Proposed partition reassignment configuration                   --generate
    {"version":1,"partitions":[...]}
    Current partition reassignments:                                --list
    t-0: replicas: 3,4,1. adding: 3,4. removing: 1.

A plan says what somebody wants, not what is: its JSON, and what `Proposed` heads, is checked and not kept. What `Current` heads tells
replicas without leader and ISR: it is held against the other dumps. An entry is a partition, or a line of the tool's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, broker_ids, identifier, topic_name
from jobs.ingest.facts import Assigned, Reassigning

NAME = "kafka-reassign-partitions"

_CURRENT = "Current partition replica assignment"
_WORDS = re.compile(
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
    """Whether one of the tool's headings is there, or all of it is a plan."""
    return _KNOWN_BY.search(dump.head) is not None or _PLAN.match(dump.head.lstrip()) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """A fact for each partition of the current assignment, and for each that is being reassigned."""
    current, at = False, 0
    line = 1
    while at < len(dump.text):
        end = dump.text.find("\n", at)
        text = dump.text[at : end if end >= 0 else len(dump.text)].strip()
        if text.startswith("{"):
            try:
                document, after = json.JSONDecoder().raw_decode(dump.text, dump.text.index("{", at))
            except (ValueError, RecursionError) as e:
                yield Rejected(line, text, f"not JSON: {e}")
            else:
                yield from _plan(document, line, current=current)
                line += dump.text.count("\n", at, after)
                at = after
                continue
        elif text:
            yield _words(text, line)
            current = text == _CURRENT or (current and text.startswith("{"))
        if end < 0:
            break
        at, line = end + 1, line + 1


def _words(text: str, line: int) -> Told | Rejected:
    try:
        if match := _LISTED.fullmatch(text):
            topic, partition, *lists = match.groups()
            replicas, adding, removing = (broker_ids(ids.split(",") if ids else [], "the line") for ids in lists)
            return Told(line, text, Reassigning(topic_name(topic), identifier(partition, "the partition"), replicas, adding, removing))
        if _WORDS.fullmatch(text):
            return Told(line, text, None)
        raise Unreadable("neither of the tool's words nor its JSON")
    except Unreadable as e:
        return Rejected(line, text, str(e))


def _plan(document: Any, line: int, *, current: bool) -> Iterator[Told | Rejected]:
    if document.get("version", 1) != 1:
        yield Rejected(line, document, "version 1 is the only one of a plan")
        return
    entries = document.get("partitions", document.get("topics"))
    if not isinstance(entries, list):
        yield Rejected(line, document, "no list of partitions")
        return
    seen = set()
    for entry in entries:
        try:
            if not isinstance(entry, dict):
                raise Unreadable("no JSON object")
            topic = topic_name(entry.get("topic") if isinstance(entry.get("topic"), str) else None)
            if "partitions" not in document or "replicas" not in entry:  # topics to move, or partitions to elect for
                yield Told(line, entry, None)
                continue
            fact = Assigned(topic, identifier(entry.get("partition"), "partition"), broker_ids(entry["replicas"], "replicas"))
            log_dirs = entry.get("log_dirs")
            if not fact.replicas or (log_dirs is not None and (not isinstance(log_dirs, list) or len(log_dirs) != len(fact.replicas))):
                raise Unreadable("replicas and log_dirs are not of one length" if fact.replicas else "replicas names no broker")
            if fact[:2] in seen:
                raise Unreadable("the partition is named twice")
            seen.add(fact[:2])
            yield Told(line, entry, fact if current else None)
        except Unreadable as e:
            yield Rejected(line, entry, str(e))
