"""kafka-streams-groups --describe with offsets, --members or --state, each also with --verbose.

Printed by org.apache.kafka.tools.streams.StreamsGroupCommand (4.1 on).

    GROUP     TOPIC   PARTITION  OFFSET-LAG        CURRENT-OFFSET, LEADER-EPOCH and LOG-END-OFFSET before it with --verbose
    pipeline  orders  0          3

    GROUP     MEMBER                  PROCESS                 CLIENT-ID  ASSIGNMENTS
    pipeline  hW_GIcHuSV2KJEBh6fSqSw  2f5f9a0e-0b1c-4f0e-...  app-1      ACTIVE: 0:[0,1];

    GROUP     COORDINATOR (ID)      STATE                     #MEMBERS            GROUP-EPOCH, TARGET-ASSIGNMENT-EPOCH with --verbose
    pipeline  127.0.0.1:9092  (1)   Stable                    1

The assignments are tasks of subtopologies, whose topics the tool does not print: the partitions of members are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, plain_text, topic_name, whole_number
from jobs.ingest.facts import Fact, GroupOffset, GroupState, ListedGroup, MemberLine
from jobs.ingest.formats.kafka_consumer_groups import cells_of
from jobs.ingest.precedence import Precedence

NAME = "kafka-streams-groups"
PRECEDENCE = Precedence.KAFKA_TOOL

_GAP = r"[ ]{1,300}"
_OFFSETS = re.compile(
    rf"GROUP{_GAP}TOPIC{_GAP}PARTITION{_GAP}(CURRENT-OFFSET{_GAP}LEADER-EPOCH{_GAP}LOG-END-OFFSET{_GAP})?OFFSET-LAG[ ]{{0,300}}"
)
_VERBOSE_MEMBER = rf"TARGET-ASSIGNMENT-EPOCH{_GAP}TOPOLOGY-EPOCH{_GAP}MEMBER{_GAP}MEMBER-PROTOCOL{_GAP}MEMBER-EPOCH"
_MEMBERS = re.compile(rf"GROUP{_GAP}(?:{_VERBOSE_MEMBER}|MEMBER){_GAP}PROCESS{_GAP}CLIENT-ID{_GAP}ASSIGNMENTS[ ]{{0,300}}")
# kafka-share-groups prints the same columns without --verbose. Its STATE is 15 characters wide, that of streams groups 25.
_STATE = re.compile(
    rf"GROUP{_GAP}COORDINATOR \(ID\){_GAP}STATE(?:[ ]{{21}}|{_GAP}GROUP-EPOCH{_GAP}TARGET-ASSIGNMENT-EPOCH{_GAP})#MEMBERS[ ]{{0,300}}"
)
_COLUMN = re.compile(r"\S+")
_NOTICE = re.compile(r"Streams group '(.{1,300})' has no active members\.")
_COORDINATED = re.compile(r"(\S+)[ ]+\S*[ ]*\((-?[0-9]{1,10})\)[ ]+(\S+)[ ]+(?:\S+[ ]+\S+[ ]+)?([0-9]{1,10})[ ]*")
_KNOWN_BY = re.compile(rf"^(?:{_OFFSETS.pattern}|{_MEMBERS.pattern}|{_STATE.pattern}|{_NOTICE.pattern})\r?$", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a header that only this tool prints, or a message about a group without members."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each partition, member and group."""
    header: re.Match[str] | None = None
    for number, line in dump.lines():
        try:
            if match := _OFFSETS.fullmatch(line) or _MEMBERS.fullmatch(line) or _STATE.fullmatch(line):
                header = match
            elif match := _NOTICE.fullmatch(line):
                yield Parsed(number, line, ListedGroup(plain_text(match[1], "the group"), "streams", "Empty"))
            elif header is None:
                raise Unreadable("no header of kafka-streams-groups above it")
            else:
                yield Parsed(number, line, _fact(line, header))
        except Unreadable as e:
            yield Rejected(number, line, str(e))


def _fact(line: str, header: re.Match[str]) -> Fact:
    if header.re is _OFFSETS:
        return _offset(line.split(), verbose=header[1] is not None)
    if header.re is _STATE:
        return _state(line)
    return _member(line, {match[0]: match.start() for match in _COLUMN.finditer(header[0])})


def _offset(cells: list[str], *, verbose: bool) -> GroupOffset:
    if len(cells) != (7 if verbose else 4):
        raise Unreadable("the number of values differs from the header")
    group_id, topic, partition, *numbers = cells
    current, _, end, lag = numbers if verbose else ["-", "-", "-", *numbers]
    offsets = [
        None if cell == "-" else whole_number(cell, name, least=-1)
        for cell, name in ((current, "CURRENT-OFFSET"), (end, "LOG-END-OFFSET"), (lag, "OFFSET-LAG"))
    ]
    return GroupOffset(plain_text(group_id, "GROUP"), topic_name(topic), identifier(partition, "PARTITION"), *offsets, None, None, None)


def _state(line: str) -> GroupState:
    match = _COORDINATED.fullmatch(line)
    if match is None:
        raise Unreadable("coordinator, state or #MEMBERS is missing")
    group_id, coordinator_id, state, members = match.groups()
    coordinator = None if coordinator_id == "-1" else identifier(coordinator_id, "COORDINATOR (ID)")
    return GroupState(
        plain_text(group_id, "GROUP"), "streams", None, plain_text(state, "STATE"), coordinator, identifier(members, "#MEMBERS")
    )


def _member(line: str, header: dict[str, int]) -> MemberLine:
    if len(line.rstrip()) <= header["ASSIGNMENTS"]:  # a member without tasks
        line = f"{line.rstrip():<{header['ASSIGNMENTS']}}-"
    cells = cells_of(line, header)
    group_id, member_id = cells["GROUP"], cells["MEMBER"]
    if group_id is None or member_id is None:
        raise Unreadable("GROUP or MEMBER is missing")
    return MemberLine(group_id, member_id, None, None, cells["CLIENT-ID"], "streams", 0, None)
