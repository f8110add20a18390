"""kafka-consumer-groups: --describe with offsets, --members or --state, and --list with --state or --type.

Printed by org.apache.kafka.tools.consumer.group.ConsumerGroupCommand, in earlier versions kafka.admin.ConsumerGroupCommand.

    GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
    g      orders  1          400             500             100  -            -           -

    GROUP  CONSUMER-ID  HOST        CLIENT-ID  #PARTITIONS  ASSIGNMENT
    g      c-1          /10.0.0.1   c          2            orders(0,1)

    GROUP  COORDINATOR (ID)      ASSIGNMENT-STRATEGY  STATE   #MEMBERS
    g      10.0.0.1:9092  (2)    range                Stable  1

A file may contain several tables, each with a header. Up to 2.0 the group is not printed, and the rows are rejected. An assignment has three
forms: `t1(0,1), t2(0)` up to 3.7; `(0,1), (0)` without topics from 3.8 on; CURRENT-ASSIGNMENT `t1:0,1;t2:0` in 4.x, where CURRENT-EPOCH is
`-` for a classic group. Client and member ids may contain blanks: a row is split where the header's columns start, and only if that fails, at
blanks. Share groups have other headers (kafka_share_groups.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, plain_text, topic_name, whole_number
from jobs.ingest.facts import Fact, GroupNotice, GroupOffset, GroupState, IdleMember, ListedGroup, MemberLine
from jobs.ingest.precedence import Precedence

NAME = "kafka-consumer-groups"
PRECEDENCE = Precedence.KAFKA_TOOL

_OFFSETS = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
_MEMBERS = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
_STATE = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
_EPOCHS = ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
_COLUMNS = {
    *_OFFSETS,
    *_MEMBERS,
    *_STATE,
    *_EPOCHS,
    "LEADER-EPOCH",
    "GROUP-INSTANCE-ID",
    "ASSIGNMENT",
    "UPGRADED",
    "GROUP-EPOCH",
    "TARGET-ASSIGNMENT-EPOCH",
    "TYPE",
}
_MAY_BE_BLANK = {"GROUP-INSTANCE-ID", "CLIENT-ID", "ASSIGNMENT-STRATEGY"}

_COLUMN = re.compile(r"COORDINATOR \(ID\)|\S+")
_COORDINATOR_ID = re.compile(r"\s\((-?[0-9]+)\)(?:\s|$)")
_NOTICE = re.compile(r"(?:Warning: )?Consumer group '(.*)' (has no active members|is rebalancing)\.")
_KNOWN_BY = re.compile(r"^(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR \(ID\))[ \t].*[A-Z-]\s*$|" + _NOTICE.pattern, re.MULTILINE)
_PROTOCOL_OF_STATE = {"Assigning": "consumer", "Reconciling": "consumer", "PreparingRebalance": "classic", "CompletingRebalance": "classic"}
_PROTOCOL_OF_TYPE = {"Consumer": "consumer", "Classic": "classic"}


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a header, or a message about a group without members."""
    return any(_NOTICE.match(match[0]) or _header(match[0]) for match in _KNOWN_BY.finditer(dump.head))


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each row, and for each message about a group."""
    header: dict[str, int] | None = None
    noticed = set()
    for number, line in dump.lines():
        try:
            if match := _NOTICE.fullmatch(line):
                notice = GroupNotice(plain_text(match[1], "GROUP"), "Empty" if match[2].endswith("members") else None)
                yield Parsed(number, line, None if notice in noticed else notice)
                noticed.add(notice)
            elif columns := _header(line):
                header = columns
            elif header is None:
                yield Rejected(number, line, "no header of kafka-consumer-groups above it")
            else:
                yield Parsed(number, line, _fact(line, header))
        except Unreadable as e:
            yield Rejected(number, line, str(e))


def _header(line: str) -> dict[str, int] | None:
    """Return where each column starts; None: the line is not a header."""
    columns = {match[0]: match.start() for match in _COLUMN.finditer(line)} if len(line) < 10_000 else {}
    return columns if len(columns) > 1 and columns.keys() <= _COLUMNS else None


def _fact(line: str, header: dict[str, int]) -> Fact:
    columns = header.keys()
    if columns - {"LEADER-EPOCH"} == {*_OFFSETS}:
        return _offset(cells_of(line, header))
    if columns - {"GROUP-INSTANCE-ID", "ASSIGNMENT", "UPGRADED", *_EPOCHS} == {*_MEMBERS}:
        return _member(cells_of(line, header))
    if columns - {"GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"} == {*_STATE}:
        return _state(_state_cells(line, header))
    if columns - {"TYPE", "STATE"} == {"GROUP"}:
        return _listed(cells_of(line, header))
    if "GROUP" in header:
        raise Unreadable("the header above it is not a consumer group header")
    raise Unreadable("the group is missing: Kafka 2.0 and older do not print it")


def cells_of(line: str, header: dict[str, int]) -> dict[str, str | None]:
    """Return the cells of a row by column, given where each column of the header starts; None: empty or a dash."""
    starts = [*header.values()]
    cells = [line[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    is_aligned = all(
        (cell[:1] != " " or cell.isspace()) if cell.strip() else column in _MAY_BE_BLANK for column, cell in zip(header, cells, strict=True)
    ) and all(line[start - 1 : start] in ("", " ") for start in starts[1:])
    if not is_aligned:
        cells = line.split(None, len(header) - 1)
        if len(cells) < len(header) or (len(cells[-1].split()) > 1 and [*header][-1] != "ASSIGNMENT"):
            raise Unreadable("the columns do not line up with the header")
    return {
        column: None if cell.strip() in ("", "-") else plain_text(cell.strip(), column) for column, cell in zip(header, cells, strict=True)
    }


def _state_cells(line: str, header: dict[str, int]) -> dict[str, str | None]:
    """Return the cells of a state row. Up to 3.8 a long coordinator shifts the cells behind it; they contain no blanks, but may be missing."""
    match = _COORDINATOR_ID.search(line)
    group_and_host = line[: match.start()].rsplit(None, 1) if match else []
    if not match or len(group_and_host) != 2:
        raise Unreadable("no coordinator with an id")
    columns = [*header][2:]
    values = line[match.end() :].split()
    if len(values) == len(columns) - 1:
        columns.remove("ASSIGNMENT-STRATEGY")
    if len(values) != len(columns):
        raise Unreadable("the number of values differs from the header")
    cells = {column: None if cell == "-" else plain_text(cell, column) for column, cell in zip(columns, values, strict=True)}
    return {"GROUP": plain_text(group_and_host[0].strip(), "GROUP"), "COORDINATOR (ID)": match[1], **cells}


def _offset(cells: dict[str, str | None]) -> GroupOffset | IdleMember:
    group_id, member_id, host, client_id = _required(cells, "GROUP"), cells["CONSUMER-ID"], cells["HOST"], cells["CLIENT-ID"]
    if cells["TOPIC"] is None and cells["PARTITION"] is None and member_id is not None:
        return IdleMember(group_id, member_id, host, client_id)
    return GroupOffset(
        group_id,
        topic_name(cells["TOPIC"]),
        identifier(cells["PARTITION"], "PARTITION"),
        _number(cells, "CURRENT-OFFSET"),
        _number(cells, "LOG-END-OFFSET"),
        _number(cells, "LAG"),
        member_id,
        host,
        client_id,
    )


def _member(cells: dict[str, str | None]) -> MemberLine:
    partitions = identifier(cells["#PARTITIONS"], "#PARTITIONS")
    assignment: tuple[tuple[str, int], ...] | None = None
    if partitions == 0:
        assignment = ()
    elif "CURRENT-ASSIGNMENT" in cells:
        assignment = assignment_of(_required(cells, "CURRENT-ASSIGNMENT").split(";"), ":", "")
    elif "ASSIGNMENT" in cells:
        text = _required(cells, "ASSIGNMENT")
        if not text.endswith(")"):
            raise Unreadable("ASSIGNMENT does not end with a parenthesis")
        if not text.startswith("("):
            assignment = assignment_of(text.split(", "), "(", ")")
    if assignment is not None and not partitions == len(assignment) == len(set(assignment)):
        raise Unreadable(f"the assignment has {len(set(assignment))} partitions, not #PARTITIONS")
    protocol = None
    if "CURRENT-EPOCH" in cells:
        protocol = "classic" if cells["CURRENT-EPOCH"] is None else "consumer"
    return MemberLine(
        _required(cells, "GROUP"),
        _required(cells, "CONSUMER-ID"),
        cells.get("GROUP-INSTANCE-ID"),
        cells["HOST"],
        cells["CLIENT-ID"],
        protocol,
        partitions,
        assignment,
    )


def assignment_of(topics: list[str], opening: str, closing: str) -> tuple[tuple[str, int], ...]:
    """Return the partitions of a member from the printed assignment of each topic."""
    assignment = []
    for text in topics:
        topic, separator, partitions = text.partition(opening)
        if not separator or not partitions.endswith(closing):
            raise Unreadable("the assignment is neither t1(0,1), t2(0) nor t1:0,1;t2:0")
        ids = partitions.removesuffix(closing).split(",")
        assignment += [(topic_name(topic), identifier(partition, "a partition of the assignment")) for partition in ids]
    return tuple(assignment)


def _state(cells: dict[str, str | None]) -> GroupState:
    coordinator_id, protocol = _required(cells, "COORDINATOR (ID)"), _PROTOCOL_OF_STATE.get(cells["STATE"] or "")
    if "GROUP-EPOCH" in cells:
        protocol = "classic" if cells["GROUP-EPOCH"] is None else "consumer"
    return GroupState(
        _required(cells, "GROUP"),
        protocol,
        cells.get("ASSIGNMENT-STRATEGY"),
        cells["STATE"],
        None if coordinator_id == "-1" else identifier(coordinator_id, "COORDINATOR (ID)"),
        identifier(cells["#MEMBERS"], "#MEMBERS"),
    )


def _listed(cells: dict[str, str | None]) -> ListedGroup:
    group_type, state = cells.get("TYPE"), cells.get("STATE")
    if group_type is not None and group_type not in _PROTOCOL_OF_TYPE:
        raise Unreadable(f"a group of type {group_type}")
    return ListedGroup(_required(cells, "GROUP"), _PROTOCOL_OF_TYPE.get(group_type or "") or _PROTOCOL_OF_STATE.get(state or ""), state)


def _required(cells: dict[str, str | None], column: str) -> str:
    value = cells[column]
    if value is None:
        raise Unreadable(f"{column} is missing")
    return value


def _number(cells: dict[str, str | None], column: str) -> int | None:
    value = cells[column]
    return None if value is None else whole_number(value, column, least=-(2**63))
