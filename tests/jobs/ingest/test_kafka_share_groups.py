"""What kafka-share-groups prints."""

from pathlib import Path

import pytest

from jobs.ingest.facts import GroupOffset, GroupState
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.test_merge import merged, rejects

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats" / "4.3.1"
OFFSETS = "GROUP TOPIC PARTITION START-OFFSET LAG\n"
STATE = "GROUP COORDINATOR (ID) STATE #MEMBERS\n"


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected) == ("kafka-share-groups", [])
    return [told.fact for told in reading.told if told.fact is not None]


@pytest.mark.parametrize("verbose", ["", "-verbose"])
def test_what_kafka_printed_is_understood(verbose: str) -> None:
    assert facts((RECORDED / f"kafka-share-groups-state{verbose}.txt").read_text()) == [
        GroupState("share-desk", "share", None, "Stable", 2, 1)
    ]
    assert facts((RECORDED / f"kafka-share-groups-offsets{verbose}.txt").read_text()) == [
        GroupOffset("share-desk", "orders", partition, None, None, None, None, None, None) for partition in range(6)
    ]
    assert facts((RECORDED / f"kafka-share-groups-members{verbose}.txt").read_text()) == []


def test_offset_with_and_without_its_lag_is_told() -> None:
    told = GroupOffset("s", "t", 0, 17, None, 3, None, None, None)
    assert facts(OFFSETS + "s t 0 17 3\n") == [told]
    assert facts("GROUP TOPIC PARTITION START-OFFSET\ns t 0 17\n") == [told._replace(lag=None)]
    assert facts("GROUP TOPIC PARTITION LEADER-EPOCH START-OFFSET LAG\ns t 0 2 17 3\n") == [told]


def test_group_is_a_row_of_its_own_protocol() -> None:
    found = merged(a=STATE + "s h:9092  (2) Stable 4\n", b=OFFSETS + "s t 0 17 3\n")
    assert found.rows["consumer_group"] == [("s", "share", None, "Stable", 2, 4)]
    assert found.rows["committed_offset"] == [("t", 0, "s", 17, None, 3)]
    assert rejects(found) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OFFSETS + "s t 0 17\n", "not as many values as the header has columns"),
        (OFFSETS + "s t x 17 3\n", "PARTITION is no whole number"),
        (STATE + "s h:9092 (2) Sta\xffble 4\n", "STATE is no text"),
        (STATE + "s Stable 4\n", "no group with its coordinator, state and members"),
    ],
)
def test_bad_row_is_rejected(text: str, reason: str) -> None:
    assert [(refused.line, refused.reason) for refused in read_dump(text.encode("latin-1")).rejected] == [(2, reason)]
