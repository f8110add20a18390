"""How dumps that agree, differ and leave things out become one cluster."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.ingest.merge import Merged, ReadFile, merge_files
from jobs.ingest.reading import read_dump

NOW = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
TOPIC = "Topic: {}\tPartitionCount: {}\tReplicationFactor: 2\tConfigs: {}\n"
PARTITION = "\tTopic: {}\tPartition: {}\tLeader: {}\tReplicas: {}\tIsr: {}\n"
ELR = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: {}\tLastKnownElr: {}\n"
OFFSETS = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
MEMBERS = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS"
STATE = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\n"
FEATURE = "Feature: {}\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: {}\tEpoch: 1\n"
QUORUM = "LeaderId: 2\nMaxFollowerLagTimeMs: 0\n"
LOG_DIRS = '{{"brokers":[{{"broker":{},"logDirs":[{{"logDir":"{}","error":null,"partitions":[{}]}}]}}]}}\n'
LOG = '{{"partition":"{}","size":{},"offsetLag":{},"isFuture":{}}}'


def merged(**files: str) -> Merged:
    """Files written a second apart, in the order given."""
    return merge_files(
        ReadFile(name, len(text), NOW + timedelta(seconds=second), read_dump(text.encode()))
        for second, (name, text) in enumerate(files.items())
    )


def rejects(merged: Merged) -> list[tuple[object, ...]]:
    return [(file, line, reason) for file, line, _, _, reason in merged.rows["rejected_input"]]


def test_later_file_stands_and_the_earlier_entry_is_rejected() -> None:
    found = merged(b=PARTITION.format("t", 0, 1, "1,2", "1,2"), a=PARTITION.format("t", 0, 2, "1,2", "2"))
    assert [row[2:5] for row in found.rows["partition"]] == [(2, (1, 2), [2])]
    assert rejects(found) == [
        ("b", 1, "a, line 1, tells otherwise: leader 2, not 1; isr 2, not 1,2 (written 2026-11-21 02:00:01, this 2026-11-21 02:00:00)")
    ]
    assert [row[0:5] for row in found.rows["input_file"]] == [("a", "kafka-topics", 1, 1, 0), ("b", "kafka-topics", 1, 0, 1)]


def test_files_of_one_second_stand_in_the_order_of_their_names() -> None:
    files = [
        ReadFile(name, 1, NOW + timedelta(microseconds=microsecond), read_dump(PARTITION.format("t", 0, leader, "1,2", "1,2").encode()))
        for name, leader, microsecond in (("b", 2, 1), ("a", 1, 9))
    ]
    assert merge_files(files).rows["partition"][0][2] == merge_files(files[::-1]).rows["partition"][0][2] == 2


def test_files_that_tell_the_same_reject_nothing() -> None:
    line = PARTITION.format("t", 0, 1, "1,2", "1,2")
    assert rejects(merged(a=line, b=line)) == []


def test_partition_told_twice_in_one_file_is_one_row_and_one_reject() -> None:
    found = merged(a=PARTITION.format("t", 0, 1, "1,2", "1,2") * 2)
    assert len(found.rows["partition"]) == 1
    assert rejects(found) == [("a", 1, "told again in line 2")]


def test_reassignment_that_only_adds_removes_none() -> None:
    found = merged(a="\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 3,1\tIsr: 1\tAdding Replicas: 3\tRemoving Replicas: \n")
    assert found.rows["partition"][0][7:9] == ((3,), None)


def test_partitions_that_a_dump_leaves_out_are_told() -> None:
    found = merged(a=TOPIC.format("t", 3, "") + PARTITION.format("t", 1, 1, "1,2", "1,2"))
    assert [row[:4] for row in found.rows["topic"]] == [("t", None, 3, 2)]
    assert rejects(found) == [("a", 1, "1 partitions are told, not 3")]
    assert found.rows["input_file"][0][2:5] == (3, 2, 1)


def test_topic_without_its_line_is_counted_from_its_partitions() -> None:
    found = merged(a=PARTITION.format("t", 0, 1, "1,2", "1,2") + PARTITION.format("t", 1, 1, "1,2", "1,2"))
    assert found.rows["topic"] == [("t", None, 2, 2, None, [])]
    assert rejects(found) == []
    found = merged(a=PARTITION.format("t", 2, 1, "1,2,3", "1,2"))
    assert found.rows["topic"] == [("t", None, 3, 3, None, [])]
    assert rejects(found) == [("a", 1, "1 partitions are told of at least 3")]


def test_more_partitions_than_the_topic_tells_widen_it() -> None:
    found = merged(a=TOPIC.format("t", 1, "") + PARTITION.format("t", 0, 1, "1,2", "1,2") + PARTITION.format("t", 1, 1, "1,2", "1,2"))
    assert found.rows["topic"][0][2] == 2
    assert rejects(found) == [("a", 1, "2 partitions are told, not 1")]


def test_min_insync_replicas_and_configs_are_told() -> None:
    found = merged(a=TOPIC.format("t", 1, "retention.ms=-1,min.insync.replicas=2") + PARTITION.format("t", 0, 1, "1,2", "1,2"))
    assert found.rows["topic"] == [("t", None, 1, 2, 2, [("min.insync.replicas", "2"), ("retention.ms", "-1")])]


@pytest.mark.parametrize(
    ("files", "controller", "elr"),
    [
        ({"a": PARTITION.format("t", 0, 1, "1,2", "1,2")}, "zookeeper", False),
        ({"a": ELR.format("N/A", "N/A")}, "zookeeper", False),
        ({"a": ELR.format("", "")}, "kraft", False),
        ({"a": ELR.format("2", "")}, "kraft", True),
        ({"a": TOPIC.format("t", 1, "min.insync.replicas=1") + ELR.format("", "")}, "kraft", True),
        ({"a": TOPIC.format("t", 1, "retention.ms=1") + ELR.format("", "")}, "kraft", False),
        ({"a": ELR.format("N/A", "N/A"), "b": QUORUM}, "kraft", False),
        ({"a": FEATURE.format("metadata.version", "3.9-IV0")}, "kraft", False),
        ({"a": FEATURE.format("metadata.version", "4.1-IV1") + FEATURE.format("eligible.leader.replicas.version", "1")}, "kraft", True),
        (
            {
                "a": TOPIC.format("t", 1, "min.insync.replicas=1") + ELR.format("", ""),
                "b": FEATURE.format("metadata.version", "4.1-IV1") + FEATURE.format("eligible.leader.replicas.version", "0"),
            },
            "kraft",
            False,
        ),
        ({"a": FEATURE.format("metadata.version", "-")}, "zookeeper", False),
    ],
)
def test_controller_and_elr_are_inferred(files: dict[str, str], controller: str, elr: bool) -> None:
    assert merged(**files).rows["cluster"][0][:2] == (controller, elr)


def test_who_is_live_by_the_best_source_there_is() -> None:
    def live(found: Merged) -> dict[int, bool]:
        return {row[0]: row[2] for row in found.rows["broker"]}

    topics = PARTITION.format("t", 0, 1, "1,2,3,4", "1,2")
    log_dirs = LOG_DIRS.format(3, "/d", "")
    listed = "broker_id,rack\n2,\n3,\n4,\n"
    seen = "h:1 (id: 4 rack: null) -> (\n)\nh:1 (id: 5 rack: null isFenced: true) -> (\n)\n"
    assert live(merged(a=topics)) == {1: True, 2: True, 3: False, 4: False}
    assert live(merged(a=topics, b=log_dirs)) == {1: False, 2: False, 3: True, 4: False}
    assert live(merged(a=topics, b=log_dirs, c=listed)) == {1: False, 2: True, 3: True, 4: True}
    assert live(merged(a=topics, b=log_dirs, c=listed, d=seen)) == {1: False, 2: False, 3: False, 4: True, 5: False}


def test_rack_that_the_cluster_tells_goes_before_the_operators_list() -> None:
    seen = "h:1 (id: 1 rack: a) -> (\n)\nh:1 (id: 2 rack: null) -> (\n)\nh:1 (id: 3 rack: z) -> (\n)\n"
    found = merged(a="broker_id,rack\n1,x\n2,y\n3,z\n", b=seen)
    assert [row[:2] for row in found.rows["broker"]] == [(1, "a"), (2, "y"), (3, "z")]
    assert rejects(found) == [("a", 2, "the cluster itself tells rack a")]


def test_capacity_is_a_brokers_own_or_the_default() -> None:
    found = merged(
        a="broker_id,rack\n1,\n2,\n",
        b='{"brokerCapacities":[{"brokerId":"-1","capacity":{"DISK":"1"}},{"brokerId":"2","capacity":{"DISK":{"/d":"2","/e":"3"}}}]}\n',
        c=LOG_DIRS.format(1, "/d", "").strip()[:-2] + ',{"broker":2,"logDirs":[{"logDir":"/d","error":"gone","partitions":[]}]}]}\n',
    )
    mib = 2.0**20
    assert [(row[0], row[3]) for row in found.rows["broker"]] == [(1, mib), (2, 5 * mib)]
    assert found.rows["log_dir"] == [
        (1, "/d", None, None, None, None),
        (2, "/d", "gone", 2 * mib, None, None),
        (2, "/e", None, 3 * mib, None, None),
    ]


def test_replica_joins_its_place_and_its_log() -> None:
    logs = ",".join([LOG.format("t-0", 10, 0, "false"), LOG.format("gone-1", 5, 0, "false"), LOG.format("t-0", 3, 9, "true")])
    found = merged(a=PARTITION.format("t", 0, 1, "2,1", "1"), b=LOG_DIRS.format(1, "/d", logs))
    assert found.rows["replica"] == [
        ("gone", 1, 1, None, False, "/d", 5, 0, None, None),
        ("t", 0, 1, 1, True, "/d", 10, 0, "/d", None),
        ("t", 0, 2, 0, False, None, None, None, None, None),
    ]
    assert [row[-1] for row in found.rows["partition"]] == [[None, 10]]


def test_end_offset_is_the_greatest_told_and_goes_before_a_groups() -> None:
    group = OFFSETS + "g t 0 1 90 89 - - -\nh t 0 1 95 94 - - -\n"
    partition = PARTITION.format("t", 0, 1, "1,2", "1,2")
    assert merged(a=partition, b=group).rows["partition"][0][9] == 95
    found = merged(a=partition, b=group, c="t:0:70\n", d="t:0:60\n")
    assert found.rows["partition"][0][9] == 70
    assert rejects(found) == [
        ("d", 1, "c, line 1, tells otherwise: offset 70, not 60 (written 2026-11-21 02:00:02, this 2026-11-21 02:00:03)")
    ]


def test_group_of_all_its_tables() -> None:
    found = merged(
        a=STATE + "g h:1  (2) range Stable 2\n",
        b=MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 2 t(0), u(3)\ng m2 /h2 c2 0 -\n",
        c=OFFSETS + "g t 0 5 9 4 m1 /h1 c1\ng u 3 - 9 - m1 /h1 c1\n",
    )
    assert found.rows["consumer_group"] == [("g", None, "range", "Stable", 2, 2)]
    assert found.rows["group_member"] == [
        ("g", "m1", None, "c1", "/h1", ["t", "u"], None, None),
        ("g", "m2", None, "c2", "/h2", ["t", "u"], None, None),
    ]
    assert found.rows["observed_assignment"] == [("t", 0, "g", "m1"), ("u", 3, "g", "m1")]
    assert found.rows["committed_offset"] == [("t", 0, "g", 5, 9, 4), ("u", 3, "g", None, 9, None)]
    assert rejects(found) == []


def test_offsets_alone_tell_members_and_what_they_hold() -> None:
    found = merged(a=OFFSETS + "g t 0 5 9 4 m1 /h1 c1\ng t 1 5 9 4 - - -\ng - - - - - m2 /h2 c2\n")
    assert found.rows["group_member"] == [
        ("g", "m1", None, "c1", "/h1", ["t"], None, None),
        ("g", "m2", None, "c2", "/h2", ["t"], None, None),
    ]
    assert found.rows["observed_assignment"] == [("t", 0, "g", "m1")]
    assert found.rows["consumer_group"] == [("g", None, None, None, None, 2)]


def test_assignment_without_topics_is_taken_from_the_offsets_or_told_to_be_missing() -> None:
    members = MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 2 (0,1)\n"
    found = merged(a=members, b=OFFSETS + "g t 0 5 9 4 m1 /h1 c1\ng t 1 5 9 4 m1 /h1 c1\n")
    assert len(found.rows["observed_assignment"]) == 2
    assert rejects(found) == []
    found = merged(a=members)
    assert found.rows["observed_assignment"] == []
    assert [row[:2] for row in found.rows["group_member"]] == [("g", "m1")]
    assert rejects(found) == [("a", 2, "of its partitions 0 are told by topic: add what --describe prints without --members")]
    assert found.rows["input_file"][0][2:5] == (2, 1, 1)


def test_members_go_before_the_offsets_that_contradict_them() -> None:
    members = MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 1 t(0)\ng m2 /h c 1 t(1)\n"
    found = merged(a=members, b=OFFSETS + "g t 0 5 9 4 m2 /h c\ng t 1 5 9 4 m2 /h c\n")
    assert found.rows["observed_assignment"] == [("t", 0, "g", "m1"), ("t", 1, "g", "m2")]
    assert rejects(found) == [("b", 2, "--members tells otherwise than that m2 holds it")]


def test_group_known_by_a_remark_alone_is_empty() -> None:
    assert merged(a="Consumer group 'g' has no active members.\n").rows["consumer_group"] == [("g", None, None, "Empty", None, 0)]


def test_key_samples_of_several_files_add_up() -> None:
    header = "topic,key,records,size_bytes,partition\n"
    found = merged(a=header + "t,k,1,10,\nt,,1,10,\nt,k,1,10,3\n", b=header + 't,k,2,20,\nt,"",4,40,\nt,,8,80,\n')
    assert [tuple(row.values()) for row in found.columns["key_sample"].to_pylist()] == [
        ("t", b"k", 3, 1, 10, None, None),
        ("t", b"", None, 4, 40, None, None),
        ("t", b"k", None, 3, 30, None, None),
        ("t", None, None, 9, 90, None, None),
    ]


def test_where_keys_were_found_stands_beside_them() -> None:
    header = "topic,key,records,size_bytes,partition,observed_partition\n"
    found = merged(
        a=header + "t,k,1,10,,5\nt,k,2,20,,2\nt,k,4,40,,\nt,,3,30,,1\nt,named,1,1,7,\n",
        b=header + "t,k,1,10,,5\nt,,1,10,,0\nt,j,1,10,,\nu,k,9,9,,3\n",
    )
    assert [tuple(row.values()) for row in found.columns["key_sample"].to_pylist()] == [
        ("t", b"named", 7, 1, 1, None, None),
        ("t", b"j", None, 1, 10, None, None),
        ("t", b"k", None, 8, 80, [2, 5], [2, 2]),
        ("t", None, None, 4, 40, [0, 1], [1, 3]),
        ("u", b"k", None, 9, 9, [3], [9]),
    ]


def test_sources_are_the_formats_of_which_something_was_accepted() -> None:
    found = merged(a=PARTITION.format("t", 0, 1, "1,1", "1"), b="t:0:7\n", c="unknown\n", d='{"brokers":[],"logDirs":[]}')
    assert found.rows["cluster"] == [
        ("zookeeper", False, ["kafka-get-offsets", "kafka-log-dirs"], NOW + timedelta(seconds=3), None, None, None)
    ]


def test_cluster_without_a_readable_file_has_no_row() -> None:
    assert merged().rows["cluster"] == []
    assert merged(a="garbage").rows["cluster"] == []


def test_two_rejects_of_one_line_are_told_apart() -> None:
    found = merged(a='{"brokers":[{"broker":"x","logDirs":[]},{"broker":"y","logDirs":[]}]}\n')
    assert [row[:3] for row in found.rows["rejected_input"]] == [("a", 1, 0), ("a", 1, 1)]
