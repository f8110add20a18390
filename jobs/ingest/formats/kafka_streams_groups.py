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

from jobs.ingest.dump import Dump, Unreadable, identifier, plain_text, topic_name, whole_number
from jobs.ingest.facts import GroupOffset, MemberLine
from jobs.ingest.formats.kafka_consumer_groups import cells_of
from jobs.ingest.group_tool import GroupTool
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
_NOTICE = re.compile(r"Streams group '(.{1,300})' has no active members\.")
_KNOWN_BY = re.compile(rf"^(?:{_OFFSETS.pattern}|{_MEMBERS.pattern}|{_STATE.pattern}|{_NOTICE.pattern})\r?$", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a header that only this tool prints, or a message about a group without members."""
    return _KNOWN_BY.search(dump.head) is not None


def _offset(cells: list[str], header: re.Match[str]) -> GroupOffset:
    verbose = header[1] is not None
    if len(cells) != (7 if verbose else 4):
        raise Unreadable("the number of values differs from the header")
    group_id, topic, partition, *numbers = cells
    current, _, end, lag = numbers if verbose else ["-", "-", "-", *numbers]
    offsets = [
        None if cell == "-" else whole_number(cell, name, least=-1)
        for cell, name in ((current, "CURRENT-OFFSET"), (end, "LOG-END-OFFSET"), (lag, "OFFSET-LAG"))
    ]
    return GroupOffset(plain_text(group_id, "GROUP"), topic_name(topic), identifier(partition, "PARTITION"), *offsets, None, None, None)


def _member(line: str, header: dict[str, int]) -> MemberLine:
    if len(line.rstrip()) <= header["ASSIGNMENTS"]:  # a member without tasks
        line = f"{line.rstrip():<{header['ASSIGNMENTS']}}-"
    cells = cells_of(line, header)
    group_id, member_id = cells["GROUP"], cells["MEMBER"]
    if group_id is None or member_id is None:
        raise Unreadable("GROUP or MEMBER is missing")
    return MemberLine(group_id, member_id, None, None, cells["CLIENT-ID"], "streams", 0, None)


parse = GroupTool(NAME, "streams", _OFFSETS, _MEMBERS, _STATE, _NOTICE, _offset, _member).parse
