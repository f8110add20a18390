"""Output of kafka-streams-groups, with the widths of StreamsGroupCommand of 4.3.1."""

from jobs.ingest.facts import GroupOffset, GroupState, ListedGroup, MemberLine
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import rejects, resolved, rows

STATE = "{:<8} {:<20} {:<25} {}\n"
STATES = STATE.format("GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS") + STATE.format("pipeline", "h1:9092  (1)", "Stable", 2)
VERBOSE_STATE = "{:<8} {:<20} {:<25} {:<15} {:<25} {}\n"
VERBOSE_STATES = VERBOSE_STATE.format(
    "GROUP", "COORDINATOR (ID)", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"
) + VERBOSE_STATE.format("pipeline", "h1:9092  (1)", "NotReady", 3, 3, 2)
MEMBER = "{:<8} {:<6} {:<7} {:<9} {}\n"
MEMBERS = (
    MEMBER.format("GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS")
    + MEMBER.format("pipeline", "m-1", "p-1", "an app", "ACTIVE: 0:[0,1]; STANDBY: 1:[0];")
    + MEMBER.format("pipeline", "m-2", "p-2", "app", "")
)
VERBOSE_MEMBER = "{:<8} {:<25} {:<15}{:<6} {:<15} {:<15} {:<7} {:<9} {}\n"
VERBOSE_MEMBERS = VERBOSE_MEMBER.format(
    "GROUP", "TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER", "MEMBER-PROTOCOL", "MEMBER-EPOCH", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"
) + VERBOSE_MEMBER.format("pipeline", 3, 0, "m-1", "streams", 3, "p-1", "app", "ACTIVE: 0:[0];")


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected) == ("kafka-streams-groups", [])
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None]


def test_states_differ_from_those_of_share_groups_by_the_width_of_the_column() -> None:
    assert facts(STATES) == [GroupState("pipeline", "streams", None, "Stable", 1, 2)]
    assert facts(VERBOSE_STATES) == [GroupState("pipeline", "streams", None, "NotReady", 1, 2)]
    assert read_dump(STATES.replace(" " * 10 + "#", "#").replace(" " * 10 + "2", "2").encode()).format == "kafka-share-groups"


def test_members_have_unknown_partitions() -> None:
    assert facts(MEMBERS) == [
        MemberLine("pipeline", "m-1", None, None, "an app", "streams", 0, None),
        MemberLine("pipeline", "m-2", None, None, "app", "streams", 0, None),
    ]
    assert facts(VERBOSE_MEMBERS) == [MemberLine("pipeline", "m-1", None, None, "app", "streams", 0, None)]


def test_offsets_are_parsed_with_and_without_verbose() -> None:
    assert facts("GROUP TOPIC PARTITION OFFSET-LAG\npipeline t 0 3\n") == [GroupOffset("pipeline", "t", 0, None, None, 3, None, None, None)]
    verbose = "GROUP TOPIC PARTITION CURRENT-OFFSET LEADER-EPOCH LOG-END-OFFSET OFFSET-LAG\n"
    assert facts(verbose + "pipeline t 0 7 2 10 3\npipeline t 1 - - 5 5\n") == [
        GroupOffset("pipeline", "t", 0, 7, 10, 3, None, None, None),
        GroupOffset("pipeline", "t", 1, None, 5, 5, None, None, None),
    ]


def test_a_group_without_members_is_listed() -> None:
    assert facts("Streams group 'pipeline' has no active members.\n") == [ListedGroup("pipeline", "streams", "Empty")]


def test_a_streams_group_is_a_row_with_its_protocol() -> None:
    tables = resolved(a=STATES, b=MEMBERS)
    assert rows(tables, "consumer_group") == [("pipeline", "streams", None, "Stable", 1, 2)]
    assert [row[1] for row in rows(tables, "group_member")] == ["m-1", "m-2"]
    assert rows(tables, "observed_assignment") == []
    assert rejects(tables) == []
