"""Output of kafka-share-groups."""

from pathlib import Path

import pytest

from jobs.ingest.facts import GroupOffset, GroupState, MemberLine
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import rejects, resolved, rows

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats" / "4.3.1"
OFFSETS = "GROUP TOPIC PARTITION START-OFFSET LAG\n"
MEMBERS = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS MEMBER-EPOCH ASSIGNMENT\n"
STATE = "GROUP COORDINATOR (ID) STATE #MEMBERS\n"


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected) == ("kafka-share-groups", [])
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None]


@pytest.mark.parametrize("verbose", ["", "-verbose"])
def test_every_recorded_line_is_parsed(verbose: str) -> None:
    assert facts((RECORDED / f"kafka-share-groups-state{verbose}.txt").read_text()) == [
        GroupState("share-desk", "share", None, "Stable", 2, 1)
    ]
    assert facts((RECORDED / f"kafka-share-groups-offsets{verbose}.txt").read_text()) == [
        GroupOffset("share-desk", "orders", partition, None, None, None, None, None, None) for partition in range(6)
    ]
    orders = tuple(("orders", partition) for partition in range(6))
    assert facts((RECORDED / f"kafka-share-groups-members{verbose}.txt").read_text()) == [
        MemberLine("share-desk", "dDmrz7IMTrKVBEVfq7H-2Q", None, "/127.0.0.1", "console-share-consumer", "share", 6, orders)
    ]


def test_offset_is_parsed_with_and_without_lag() -> None:
    offset = GroupOffset("s", "t", 0, 17, None, 3, None, None, None)
    assert facts(OFFSETS + "s t 0 17 3\n") == [offset]
    assert facts("GROUP TOPIC PARTITION START-OFFSET\ns t 0 17\n") == [offset._replace(lag=None)]
    assert facts("GROUP TOPIC PARTITION LEADER-EPOCH START-OFFSET LAG\ns t 0 2 17 3\n") == [offset]


def test_partition_may_have_several_members() -> None:
    head = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "MEMBER-EPOCH", "ASSIGNMENT")
    lines = [("s", "m-1", "/h", "a  client", 2, 3, "t:0;u:1"), ("s", "m-2", "/h", "c", 1, 3, "t:0"), ("s", "m-3", "/h", "c", 0, 3, "")]
    for columns in ("%-5s %-11s %-4s %-9s %-12s %-13s %s", "%-5s %-11s %-4s %-9s %-12s %.0s%s"):
        text = "\n".join(columns % line for line in (head, *lines)) + "\n"
        tables = resolved(a=text, b=OFFSETS + "s t 0 17 3\n")
        assert rows(tables, "group_member") == [
            ("s", "m-1", None, "a  client", "/h", None, None, None, False),
            *(("s", name, None, "c", "/h", None, None, None, False) for name in ("m-2", "m-3")),
        ]
        assert rows(tables, "observed_assignment") == [("t", 0, "s", "m-1"), ("t", 0, "s", "m-2"), ("u", 1, "s", "m-1")]
        assert rows(tables, "consumer_group") == [("s", "share", None, None, None, 3)]
        assert rejects(tables) == []


def test_share_group_is_a_row_with_its_protocol() -> None:
    tables = resolved(a=STATE + "s h:9092  (2) Stable 4\n", b=OFFSETS + "s t 0 17 3\n")
    assert rows(tables, "consumer_group") == [("s", "share", None, "Stable", 2, 4)]
    assert rows(tables, "committed_offset") == [("t", 0, "s", 17, None, 3)]
    assert rejects(tables) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OFFSETS + "s t 0 17\n", "the number of values differs from the header"),
        (OFFSETS + "s t x 17 3\n", "PARTITION is not a whole number"),
        (STATE + "s h:9092 (2) Sta\xffble 4\n", "STATE is not text"),
        (MEMBERS + "s m h c 1 3 t:0,1\n", "the assignment has 2 partitions, not #PARTITIONS"),
        (MEMBERS + "s m h c 1 3 t:x\n", "a partition of the assignment is not a whole number"),
        (MEMBERS + "s m h\n", "the columns do not line up with the header"),
        (STATE + "s Stable 4\n", "coordinator, state or #MEMBERS is missing"),
    ],
)
def test_bad_row_is_rejected(text: str, reason: str) -> None:
    assert [(rejected.line, rejected.reason) for rejected in read_dump(text.encode("latin-1")).rejected] == [(2, reason)]
