"""kafka-share-groups --describe with offsets, --members or --state, each also with --verbose.

Printed by org.apache.kafka.tools.consumer.group.ShareGroupCommand (4.0 on).

    GROUP       TOPIC   PARTITION  START-OFFSET  LAG              4.0: no LAG; LEADER-EPOCH with --verbose
    share-desk  orders  0          17            3

    GROUP       CONSUMER-ID             HOST        CLIENT-ID  #PARTITIONS  ASSIGNMENT
    share-desk  hW_GIcHuSV2KJEBh6fSqSw  /127.0.0.1  console    6            orders:0,1,2,3,4,5

    GROUP       COORDINATOR (ID)      STATE   #MEMBERS            GROUP-EPOCH, ASSIGNMENT-EPOCH with --verbose
    share-desk  127.0.0.1:9092  (1)   Stable  1

A partition may be assigned to several members of a share group.
"""

from __future__ import annotations

import re

from jobs.ingest.dump import Dump, Unreadable, identifier, plain_text, topic_name, whole_number
from jobs.ingest.facts import GroupOffset, ListedGroup, MemberLine
from jobs.ingest.formats.kafka_consumer_groups import assignment_of, cells_of
from jobs.ingest.group_tool import GroupTool
from jobs.ingest.precedence import Precedence

NAME = "kafka-share-groups"
PRECEDENCE = Precedence.KAFKA_TOOL

_GAP = r"[ ]{1,300}"
_OFFSETS = re.compile(rf"GROUP{_GAP}TOPIC{_GAP}PARTITION{_GAP}(LEADER-EPOCH{_GAP})?START-OFFSET({_GAP}LAG)?[ ]{{0,300}}")
_MEMBERS = re.compile(
    rf"GROUP{_GAP}CONSUMER-ID{_GAP}HOST{_GAP}CLIENT-ID{_GAP}#PARTITIONS{_GAP}(?:MEMBER-EPOCH{_GAP})?ASSIGNMENT[ ]{{0,300}}"
)
_STATE = re.compile(rf"GROUP{_GAP}COORDINATOR \(ID\){_GAP}STATE{_GAP}(?:GROUP-EPOCH{_GAP}ASSIGNMENT-EPOCH{_GAP})?#MEMBERS[ ]{{0,300}}")
_NOTICE = re.compile(r"Share group '(.{1,300})' has no active members\.")
_ASSIGNED = r"[A-Za-z0-9._-]{1,249}:[0-9]+(?:[,;:A-Za-z0-9._-]*)"
# Without --verbose, consumer groups have the same members' header: only the form of the assignment differs.
_KNOWN_BY = re.compile(
    rf"^(?:{_OFFSETS.pattern}|{_STATE.pattern}|{_NOTICE.pattern}|GROUP{_GAP}CONSUMER-ID.{{1,900}}MEMBER-EPOCH{_GAP}ASSIGNMENT[ ]{{0,300}}"
    rf"|{_MEMBERS.pattern}\r?\n.{{1,1000}}[ ]{_ASSIGNED}[ ]{{0,300}})\r?$",
    re.MULTILINE,
)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a header or an assignment that only this tool prints."""
    return _KNOWN_BY.search(dump.head) is not None


def _member(line: str, header: dict[str, int]) -> MemberLine:
    if line.split()[-1].isdigit():  # a member without assignment
        line = f"{line.rstrip() + ' ':<{header['ASSIGNMENT']}}-"
    cells = cells_of(line, header)
    group_id, member_id, number, assigned = (cells[name] for name in ("GROUP", "CONSUMER-ID", "#PARTITIONS", "ASSIGNMENT"))
    if group_id is None or member_id is None:
        raise Unreadable("GROUP or CONSUMER-ID is missing")
    partitions, assignment = identifier(number, "#PARTITIONS"), assignment_of(assigned.split(";"), ":", "") if assigned else ()
    if not partitions == len(assignment) == len(set(assignment)):
        raise Unreadable(f"the assignment has {len(set(assignment))} partitions, not #PARTITIONS")
    return MemberLine(group_id, member_id, None, cells["HOST"], cells["CLIENT-ID"], "share", partitions, assignment)


def _offset(cells: list[str], header: re.Match[str]) -> GroupOffset | ListedGroup:
    epoch_column, lag_column = header.groups()
    if len(cells) != 4 + bool(epoch_column) + bool(lag_column):
        raise Unreadable("the number of values differs from the header")
    group_id, topic, partition = cells[:3]
    start, lag = cells[3 + bool(epoch_column)], cells[-1] if lag_column else "-"
    if topic == partition == "-":
        return ListedGroup(plain_text(group_id, "GROUP"), "share", None)
    numbers = [None if cell == "-" else whole_number(cell, name, least=-1) for cell, name in ((start, "START-OFFSET"), (lag, "LAG"))]
    return GroupOffset(
        plain_text(group_id, "GROUP"), topic_name(topic), identifier(partition, "PARTITION"), numbers[0], None, numbers[1], None, None, None
    )


parse = GroupTool(NAME, "share", _OFFSETS, _MEMBERS, _STATE, _NOTICE, _offset, _member).parse
