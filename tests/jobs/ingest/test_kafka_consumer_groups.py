"""Tables as each version of ConsumerGroupCommand prints them."""

import pytest

from jobs.ingest.facts import GroupNotice, GroupOffset, GroupState, IdleMember, ListedGroup, MemberLine
from jobs.ingest.reading import read_dump

MEMBER = "consumer-1-f0ace702-33ad-45af-b66b-f5ad6677c6f7"


def table(*rows: tuple[object, ...]) -> str:
    """Pad rows as Kafka does: every column as wide as its widest cell, and at least 15."""
    widths = [max([15, *(len(str(cell)) for cell in column)]) for column in zip(*rows, strict=True)]
    return "\n" + "".join(" ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) + "\n" for row in rows)


def facts(text: str) -> list:
    reading = read_dump(text.encode())
    assert reading.format == "kafka-consumer-groups"
    assert reading.rejected == []
    return [parsed.fact for parsed in reading.parsed]


def rejected(text: str) -> list[tuple[int, str]]:
    return [(rejected.line, rejected.reason) for rejected in read_dump(text.encode()).rejected]


OFFSETS = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
MEMBERS = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
EPOCHS = ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
STATE = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")


def test_offsets_are_parsed() -> None:
    text = table(
        OFFSETS, ("g", "orders", 1, 400, 500, 100, MEMBER, "/10.0.0.1", "consumer-1"), ("g", "orders", 2, "-", 7, "-", "-", "-", "-")
    )
    assert facts(text) == [
        GroupOffset("g", "orders", 1, 400, 500, 100, MEMBER, "/10.0.0.1", "consumer-1"),
        GroupOffset("g", "orders", 2, None, 7, None, None, None, None),
    ]


def test_leader_epoch_of_4_x_is_ignored() -> None:
    header = (*OFFSETS[:3], "LEADER-EPOCH", *OFFSETS[3:])
    assert facts(table(header, ("g", "orders", 1, 5, 400, 500, 100, "-", "-", "-")))[0].current_offset == 400


def test_member_without_a_partition_is_a_fact() -> None:
    text = table(OFFSETS, ("g", "-", "-", "-", "-", "-", MEMBER, "/10.0.0.1", "consumer-1"))
    assert facts(text) == [IdleMember("g", MEMBER, "/10.0.0.1", "consumer-1")]


def test_blanks_in_group_and_client_id_are_preserved() -> None:
    text = table(OFFSETS, ("my group", "orders", 1, 400, 500, 100, "my client-1", "/10.0.0.1", "my client"))
    assert facts(text) == [GroupOffset("my group", "orders", 1, 400, 500, 100, "my client-1", "/10.0.0.1", "my client")]


def test_offset_wider_than_its_column_shifts_the_rest() -> None:
    row = ("g", "orders", 1, 10**17, 10**17, 0, "-", "-", "-")
    assert facts(table(OFFSETS) + " ".join(str(cell).ljust(15) for cell in row) + "\n")[0].current_offset == 10**17


def test_wide_lag_does_not_run_into_the_next_column() -> None:
    member, host = "m" * 36, "/" + "h" * 20
    text = table(OFFSETS, ("g", "orders", 0, 1, 1, 0, member, host, "c" * 15))
    row = text.splitlines()[-1].replace("0" + " " * 14 + " m", "-1" + "0" * 16 + " m")
    assert facts(text + row + "\n")[-1] == GroupOffset("g", "orders", 0, 1, 1, -(10**16), member, host, "c" * 15)


@pytest.mark.parametrize(
    ("column", "cell", "assignment"),
    [
        ("ASSIGNMENT", "orders(0,1), pay-ments(0)", (("orders", 0), ("orders", 1), ("pay-ments", 0))),
        ("ASSIGNMENT", "(0,1), (0)", None),
    ],
    ids=["up to 3.7", "3.8, which leaves the topics out"],
)
def test_assignment_of_a_classic_member_is_parsed(column: str, cell: str, assignment: object) -> None:
    text = table((*MEMBERS, column), ("g", MEMBER, "/10.0.0.1", "consumer-1", 3, cell))
    assert facts(text) == [MemberLine("g", MEMBER, None, "/10.0.0.1", "consumer-1", None, 3, assignment)]


@pytest.mark.parametrize(("epoch", "protocol"), [("-", "classic"), (7, "consumer")])
def test_assignment_of_4_x_has_its_protocol(epoch: object, protocol: str) -> None:
    text = table((*MEMBERS, *EPOCHS), ("g", MEMBER, "/h", "c", 3, epoch, "orders:0,1;payments:0", epoch, "orders:0,1;payments:0"))
    assignment = (("orders", 0), ("orders", 1), ("payments", 0))
    assert facts(text) == [MemberLine("g", MEMBER, None, "/h", "c", protocol, 3, assignment)]


def test_upgraded_members_are_parsed() -> None:
    text = table((*MEMBERS, *EPOCHS, "UPGRADED"), ("g", MEMBER, "/h", "c", 1, 4, "orders:0", 5, "orders:0,1", "true"))
    assert facts(text)[0].assignment == (("orders", 0),)


def test_static_and_dynamic_members_of_one_group_are_parsed() -> None:
    header = (*MEMBERS[:2], "GROUP-INSTANCE-ID", *MEMBERS[2:], "ASSIGNMENT")
    text = table(header, ("g", "m1", "static-1", "/h", "c", 1, "orders(0)"), ("g", "m2", "", "/h", "c", 0, "-"))
    assert facts(text) == [
        MemberLine("g", "m1", "static-1", "/h", "c", None, 1, (("orders", 0),)),
        MemberLine("g", "m2", None, "/h", "c", None, 0, ()),
    ]


def test_members_without_verbose_have_no_assignment() -> None:
    assert facts(table(MEMBERS, ("g", "m1", "/h", "c", 2), ("g", "m2", "/h", "c", 0))) == [
        MemberLine("g", "m1", None, "/h", "c", None, 2, None),
        MemberLine("g", "m2", None, "/h", "c", None, 0, ()),
    ]


def test_state_is_parsed() -> None:
    assert facts(table(STATE, ("g", "10.0.0.1:9092  (2)", "range", "Stable", 3))) == [GroupState("g", None, "range", "Stable", 2, 3)]
    assert facts(table(STATE, ("g", "10.0.0.1:9092  (2)", "-", "Empty", 0))) == [GroupState("g", None, None, "Empty", 2, 0)]


def test_state_of_2_3_with_a_long_coordinator_and_no_strategy_is_parsed() -> None:
    columns = "%-31s %-25s %-20s %-15s %s\n"
    host = "broker-17.kafka.example.com:9092  (17)"
    assert facts(columns % STATE + columns % ("my group", host, "", "Empty", 0)) == [GroupState("my group", None, None, "Empty", 17, 0)]


def test_epochs_of_a_state_give_the_protocol() -> None:
    header = (*STATE[:4], "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", STATE[4])
    assert facts(table(header, ("g", "h:1  (2)", "uniform", "Stable", 7, 7, 3)))[0].protocol == "consumer"
    assert facts(table(header, ("g", "h:1  (2)", "range", "Stable", "-", "-", 3)))[0].protocol == "classic"


def test_list_with_type_and_state_is_parsed() -> None:
    assert facts(table(("GROUP", "TYPE", "STATE"), ("g", "Consumer", "Stable"), ("h", "Classic", "Empty"))) == [
        ListedGroup("g", "consumer", "Stable"),
        ListedGroup("h", "classic", "Empty"),
    ]
    assert facts(table(("GROUP", "STATE"), ("g", "Reconciling"))) == [ListedGroup("g", "consumer", "Reconciling")]


def test_group_without_members_is_known_from_a_message() -> None:
    assert facts("\nConsumer group 'g-orders' has no active members.\n\nWarning: Consumer group 'h' is rebalancing.\n") == [
        GroupNotice("g-orders", "Empty"),
        GroupNotice("h", None),
    ]


def test_one_file_may_contain_all_tables() -> None:
    text = (
        table(STATE, ("g", "h:1  (2)", "range", "Stable", 1))
        + table((*MEMBERS, "ASSIGNMENT"), ("g", "m", "/h", "c", 1, "orders(0)"))
        + table(OFFSETS, ("g", "orders", 0, 1, 1, 0, "m", "/h", "c"))
    )
    assert [type(fact) for fact in facts(text)] == [GroupState, MemberLine, GroupOffset]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (table((*MEMBERS, "ASSIGNMENT"), ("g", "m", "/h", "c", 3, "orders(0,1)")), "the assignment has 2 partitions, not #PARTITIONS"),
        (table((*MEMBERS, "ASSIGNMENT"), ("g", "m", "/h", "c", 2, "orders(0,0)")), "the assignment has 1 partitions, not #PARTITIONS"),
        (table((*MEMBERS, "ASSIGNMENT"), ("g", "m", "/h", "c", 2, "orders(0,")), "ASSIGNMENT does not end with a parenthesis"),
        (table((*MEMBERS, "ASSIGNMENT"), ("g", "m", "/h", "c", 2, "-")), "ASSIGNMENT is missing"),
        (table((*MEMBERS, "ASSIGNMENT"), ("g", "m", "/h", "c", 1, "orders")), "ASSIGNMENT does not end with a parenthesis"),
        (table(OFFSETS, ("g", "or ders", 0, 1, 1, 0, "-", "-", "-")), "not a topic name that Kafka allows"),
        (table(OFFSETS, ("g", "orders", "x", 1, 1, 0, "-", "-", "-")), "PARTITION is not a whole number"),
        (table(OFFSETS, ("-", "orders", 0, 1, 1, 0, "-", "-", "-")), "GROUP is missing"),
        (table(OFFSETS)[:-1] + "\ng orders 0\n", "the columns do not line up with the header"),
        (table(OFFSETS[1:], ("orders", 0, 1, 1, 0, "-", "-", "-")), "the group is missing: Kafka 2.0 and older do not print it"),
        (
            table(("GROUP", "TYPE", "#MEMBERS"), ("s", "Consumer", 1)),
            "the header above it is not a consumer group header",
        ),
        (table(("GROUP", "TYPE"), ("s", "Share")), "a group of type Share"),
    ],
)
def test_bad_row_is_rejected(text: str, reason: str) -> None:
    assert rejected(text) == [(3, reason)]


def test_row_above_any_header_is_rejected() -> None:
    text = "Error: something\n" + table(OFFSETS, ("g", "orders", 0, 1, 1, 0, "-", "-", "-"))
    assert rejected(text) == [(1, "no header of kafka-consumer-groups above it")]
