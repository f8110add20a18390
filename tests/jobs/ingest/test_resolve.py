"""Files of a cluster that agree, contradict each other or lack entries, resolved to its tables."""

from datetime import timedelta

import pytest

from jobs.ingest.facts import EndOffset, FeatureLevel, ListedBroker, PartitionLine, TopicLine
from jobs.ingest.reading import read_dump
from jobs.ingest.resolve import ParsedFile, resolve_cluster
from jobs.ingest.resolve.evidence import differences, fill_gaps
from tests.jobs.ingest.dumps import ELR, LOG_DIRS, NOW, PARTITION, TOPIC, Tables, rejects, resolved, rows

OFFSETS = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
MEMBERS = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS"
STATE = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\n"
FEATURE = "Feature: {}\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: {}\tEpoch: 1\n"
QUORUM = "LeaderId: 2\nMaxFollowerLagTimeMs: 0\n"
LOG = '{{"partition":"{}","size":{},"offsetLag":{},"isFuture":{}}}'
COUNTS = ("file", "format", "entries", "accepted", "rejected")


def test_newer_file_wins_and_the_older_entry_is_rejected() -> None:
    tables = resolved(b=PARTITION.format("t", 0, 1, "1,2", "1,2"), a=PARTITION.format("t", 0, 2, "1,2", "2"))
    assert rows(tables, "partition", "leader", "replicas", "isr") == [(2, [1, 2], [2])]
    assert rejects(tables) == [
        ("b", 1, "a, line 1, differs: leader 2, not 1; isr 2, not 1,2 (written 2026-11-21 02:00:01, this 2026-11-21 02:00:00)")
    ]
    assert rows(tables, "input_file", *COUNTS) == [("a", "kafka-topics", 1, 1, 0), ("b", "kafka-topics", 1, 0, 1)]


def test_files_of_one_second_are_ordered_by_name() -> None:
    files = [
        ParsedFile(name, 1, NOW + timedelta(microseconds=microsecond), read_dump(PARTITION.format("t", 0, leader, "1,2", "1,2").encode()))
        for name, leader, microsecond in (("b", 2, 1), ("a", 1, 9))
    ]
    assert rows(resolve_cluster(files), "partition", "leader") == rows(resolve_cluster(files[::-1]), "partition", "leader") == [2]


def test_equal_entries_reject_nothing() -> None:
    line = PARTITION.format("t", 0, 1, "1,2", "1,2")
    assert rejects(resolved(a=line, b=line)) == []


def test_repeated_partition_in_one_file_is_one_row_and_one_reject() -> None:
    tables = resolved(a=PARTITION.format("t", 0, 1, "1,2", "1,2") * 2)
    assert len(tables["partition"]) == 1
    assert rejects(tables) == [("a", 1, "repeated in line 2")]


def test_reassignment_without_removals_has_null_removing_replicas() -> None:
    tables = resolved(a="\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 3,1\tIsr: 1\tAdding Replicas: 3\tRemoving Replicas: \n")
    assert rows(tables, "partition", "adding_replicas", "removing_replicas") == [([3], None)]


def test_missing_partitions_are_rejected_entries() -> None:
    tables = resolved(a=TOPIC.format("t", 3, "") + PARTITION.format("t", 1, 1, "1,2", "1,2"))
    assert rows(tables, "topic", "topic", "topic_id", "partitions", "replication_factor") == [("t", None, 3, 2)]
    assert rejects(tables) == [("a", 1, "1 partitions are known, not 3")]
    assert rows(tables, "input_file", *COUNTS[2:]) == [(3, 2, 1)]


def test_topic_without_a_topic_line_is_counted_from_its_partitions() -> None:
    tables = resolved(a=PARTITION.format("t", 0, 1, "1,2", "1,2") + PARTITION.format("t", 1, 1, "1,2", "1,2"))
    assert rows(tables, "topic") == [("t", None, 2, 2, None, [])]
    assert rejects(tables) == []
    tables = resolved(a=PARTITION.format("t", 2, 1, "1,2,3", "1,2"))
    assert rows(tables, "topic") == [("t", None, 3, 3, None, [])]
    assert rejects(tables) == [("a", 1, "1 partitions are known of at least 3")]


def test_partition_count_is_at_least_the_number_of_partition_lines() -> None:
    tables = resolved(a=TOPIC.format("t", 1, "") + PARTITION.format("t", 0, 1, "1,2", "1,2") + PARTITION.format("t", 1, 1, "1,2", "1,2"))
    assert rows(tables, "topic", "partitions") == [2]
    assert rejects(tables) == [("a", 1, "2 partitions are known, not 1")]


def test_topic_has_min_insync_replicas_and_configs() -> None:
    tables = resolved(a=TOPIC.format("t", 1, "retention.ms=-1,min.insync.replicas=2") + PARTITION.format("t", 0, 1, "1,2", "1,2"))
    assert rows(tables, "topic") == [("t", None, 1, 2, 2, [("min.insync.replicas", "2"), ("retention.ms", "-1")])]


@pytest.mark.parametrize(
    ("files", "controller", "elr"),
    [
        ({"a": PARTITION.format("t", 0, 1, "1,2", "1,2")}, None, False),
        ({"a": ELR.format("N/A", "N/A")}, None, False),
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
def test_controller_and_elr_follow_from_the_best_source(files: dict[str, str], controller: str | None, elr: bool) -> None:
    found = rows(resolved(**files), "cluster", "controller", "controller_assumed", "elr")
    assert found == [(controller or "zookeeper", controller is None, elr)]


def test_live_brokers_follow_from_the_best_source() -> None:
    def live(tables: Tables) -> dict[int, bool]:
        return dict(rows(tables, "broker", "broker_id", "live"))

    topics = PARTITION.format("t", 0, 1, "1,2,3,4", "1,2")
    log_dirs = LOG_DIRS.format(3, "/d", "")
    broker_list = "broker_id,rack\n2,\n3,\n4,\n"
    api_versions = "h:1 (id: 4 rack: null) -> (\n)\nh:1 (id: 5 rack: null isFenced: true) -> (\n)\n"
    assert live(resolved(a=topics)) == {1: True, 2: True, 3: False, 4: False}
    assert live(resolved(a=topics, b=log_dirs)) == {1: False, 2: False, 3: True, 4: False}
    assert live(resolved(a=topics, b=log_dirs, c=broker_list)) == {1: False, 2: True, 3: True, 4: True}
    assert live(resolved(a=topics, b=log_dirs, c=broker_list, d=api_versions)) == {1: False, 2: False, 3: False, 4: True, 5: False}


def test_rack_of_the_cluster_wins_over_the_operators_list() -> None:
    seen = "h:1 (id: 1 rack: a) -> (\n)\nh:1 (id: 2 rack: null) -> (\n)\nh:1 (id: 3 rack: z) -> (\n)\n"
    tables = resolved(a="broker_id,rack\n1,x\n2,y\n3,z\n", b=seen)
    assert rows(tables, "broker", "broker_id", "rack") == [(1, "a"), (2, "y"), (3, "z")]
    assert rejects(tables) == [("a", 2, "the cluster itself reports rack a")]


def test_capacity_is_the_brokers_own_or_the_default() -> None:
    tables = resolved(
        a="broker_id,rack\n1,\n2,\n",
        b='{"brokerCapacities":[{"brokerId":"-1","capacity":{"DISK":"1"}},{"brokerId":"2","capacity":{"DISK":{"/d":"2","/e":"3"}}}]}\n',
        c=LOG_DIRS.format(1, "/d", "").strip()[:-2] + ',{"broker":2,"logDirs":[{"logDir":"/d","error":"gone","partitions":[]}]}]}\n',
    )
    mib = 2.0**20
    assert rows(tables, "broker", "broker_id", "disk_capacity_bytes") == [(1, mib), (2, 5 * mib)]
    assert rows(tables, "log_dir") == [
        (1, "/d", None, None, None, None, None),
        (2, "/d", "gone", 2 * mib, None, None, None),
        (2, "/e", None, 3 * mib, None, None, None),
    ]


def test_replica_has_its_index_and_its_log() -> None:
    logs = ",".join([LOG.format("t-0", 10, 0, "false"), LOG.format("gone-1", 5, 0, "false"), LOG.format("t-0", 3, 9, "true")])
    tables = resolved(a=PARTITION.format("t", 0, 1, "2,1", "1"), b=LOG_DIRS.format(1, "/d", logs))
    assert rows(tables, "replica") == [
        ("gone", 1, 1, None, False, "/d", 5, 0, None, None),
        ("t", 0, 1, 1, True, "/d", 10, 0, "/d", None),
        ("t", 0, 2, 0, False, None, None, None, None, None),
    ]
    assert rows(tables, "partition", "replica_size_bytes") == [[None, 10]]


def test_largest_end_offset_wins_and_precedes_those_of_groups() -> None:
    group = OFFSETS + "g t 0 1 90 89 - - -\nh t 0 1 95 94 - - -\n"
    partition = PARTITION.format("t", 0, 1, "1,2", "1,2")
    assert rows(resolved(a=partition, b=group), "partition", "log_end_offset") == [95]
    tables = resolved(a=partition, b=group, c="t:0:70\n", d="t:0:60\n")
    assert rows(tables, "partition", "log_end_offset") == [70]
    assert rejects(tables) == [("d", 1, "c, line 1, differs: offset 70, not 60 (written 2026-11-21 02:00:02, this 2026-11-21 02:00:03)")]


def test_group_is_read_from_state_members_and_offsets() -> None:
    tables = resolved(
        a=STATE + "g h:1  (2) range Stable 2\n",
        b=MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 2 t(0), u(3)\ng m2 /h2 c2 0 -\n",
        c=OFFSETS + "g t 0 5 9 4 m1 /h1 c1\ng u 3 - 9 - m1 /h1 c1\n",
    )
    assert rows(tables, "consumer_group") == [("g", None, "range", "Stable", 2, 2)]
    assert rows(tables, "group_member") == [
        ("g", "m1", None, "c1", "/h1", None, None, None, False),
        ("g", "m2", None, "c2", "/h2", None, None, None, False),
    ]
    assert rows(tables, "observed_assignment") == [("t", 0, "g", "m1"), ("u", 3, "g", "m1")]
    assert rows(tables, "committed_offset") == [("t", 0, "g", 5, 9, 4), ("u", 3, "g", None, 9, None)]
    assert rejects(tables) == []


def test_offsets_alone_have_members_and_assignments() -> None:
    tables = resolved(a=OFFSETS + "g t 0 5 9 4 m1 /h1 c1\ng t 1 5 9 4 - - -\ng - - - - - m2 /h2 c2\n")
    assert rows(tables, "group_member") == [
        ("g", "m1", None, "c1", "/h1", None, None, None, False),
        ("g", "m2", None, "c2", "/h2", None, None, None, False),
    ]
    assert rows(tables, "observed_assignment") == [("t", 0, "g", "m1")]
    assert rows(tables, "consumer_group") == [("g", None, None, None, None, 2)]


def test_subscriptions_are_known_where_every_member_has_a_partition_of_every_topic() -> None:
    members = MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 2 t(0), u(3)\ng m2 /h2 c2 {} {}\n"
    both = resolved(a=members.format(2, "t(1), u(0)"))
    assert rows(both, "group_member", "topics", "rack_known") == [(["t", "u"], False), (["t", "u"], False)]
    # m2 may subscribe to u or not.
    assert rows(resolved(a=members.format(1, "t(1)")), "group_member", "topics") == [None, None]
    # In a rebalance, partitions of further topics may have no member.
    rebalancing = STATE + "g h:1  (2) range PreparingRebalance 2\n"
    assert rows(resolved(a=members.format(2, "t(1), u(0)"), b=rebalancing), "group_member", "topics") == [None, None]


def test_assignment_without_topics_comes_from_the_offsets_or_is_reported_missing() -> None:
    members = MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 2 (0,1)\n"
    tables = resolved(a=members, b=OFFSETS + "g t 0 5 9 4 m1 /h1 c1\ng t 1 5 9 4 m1 /h1 c1\n")
    assert len(tables["observed_assignment"]) == 2
    assert rejects(tables) == []
    tables = resolved(a=members)
    assert rows(tables, "observed_assignment") == []
    assert rows(tables, "group_member", "group_id", "member_id") == [("g", "m1")]
    assert rejects(tables) == [("a", 2, "topics are known for 0 of its 2 partitions: add the output of --describe without --members")]
    assert rows(tables, "input_file", *COUNTS[2:]) == [(2, 1, 1)]


def test_members_table_wins_over_contradicting_offsets() -> None:
    members = MEMBERS + " ASSIGNMENT\ng m1 /h1 c1 1 t(0)\ng m2 /h c 1 t(1)\n"
    tables = resolved(a=members, b=OFFSETS + "g t 0 5 9 4 m2 /h c\ng t 1 5 9 4 m2 /h c\n")
    assert rows(tables, "observed_assignment") == [("t", 0, "g", "m1"), ("t", 1, "g", "m2")]
    assert rejects(tables) == [("b", 2, "--members does not assign it to m2")]


def test_group_known_only_from_a_message_is_empty() -> None:
    assert rows(resolved(a="Consumer group 'g' has no active members.\n"), "consumer_group") == [("g", None, None, "Empty", None, 0)]


def test_key_samples_of_several_files_add_up() -> None:
    header = "topic,key,records,size_bytes,partition\n"
    tables = resolved(a=header + "t,k,1,10,\nt,,1,10,\nt,k,1,10,3\n", b=header + 't,k,2,20,\nt,"",4,40,\nt,,8,80,\n')
    assert rows(tables, "key_sample") == [
        ("t", b"k", 3, 1, 10, None, None),
        ("t", b"", None, 4, 40, None, None),
        ("t", b"k", None, 3, 30, None, None),
        ("t", None, None, 9, 90, None, None),
    ]


def test_key_has_the_partitions_where_it_was_found() -> None:
    header = "topic,key,records,size_bytes,partition,observed_partition\n"
    tables = resolved(
        a=header + "t,k,1,10,,5\nt,k,2,20,,2\nt,k,4,40,,\nt,,3,30,,1\nt,named,1,1,7,\n",
        b=header + "t,k,1,10,,5\nt,,1,10,,0\nt,j,1,10,,\nu,k,9,9,,3\n",
    )
    assert rows(tables, "key_sample") == [
        ("t", b"named", 7, 1, 1, None, None),
        ("t", b"j", None, 1, 10, None, None),
        ("t", b"k", None, 8, 80, [2, 5], [2, 2]),
        ("t", None, None, 4, 40, [0, 1], [1, 3]),
        ("u", b"k", None, 9, 9, [3], [9]),
    ]


def test_sources_are_the_formats_with_an_accepted_entry() -> None:
    tables = resolved(a=PARTITION.format("t", 0, 1, "1,1", "1"), b="broker_id,rack\n1,a\n", c="unknown\n", d='{"brokers":[],"logDirs":[]}')
    assert rows(tables, "cluster") == [
        (
            "zookeeper",
            True,
            False,
            "3.9.2",
            "assumed",
            ["broker-list", "kafka-log-dirs"],
            NOW + timedelta(seconds=3),
            None,
            None,
            None,
            None,
            None,
        )
    ]


def test_cluster_without_a_readable_file_has_no_row() -> None:
    assert rows(resolved(), "cluster") == []
    assert rows(resolved(a="garbage"), "cluster") == []


def test_rejects_of_one_line_are_numbered() -> None:
    tables = resolved(a='{"brokers":[{"broker":"x","logDirs":[]},{"broker":"y","logDirs":[]}]}\n')
    assert rows(tables, "rejected_input", "file", "line", "entry") == [("a", 1, 0), ("a", 1, 1)]


LINE = PartitionLine("t", 0, 1, (1, 2), (1, 2), None, None, None, None)


@pytest.mark.parametrize(
    ("fact", "other_fact", "expected"),
    [
        (LINE, LINE._replace(isr=(2, 1)), ""),
        (LINE, LINE._replace(replicas=(2, 1)), "replicas 1,2, not 2,1"),
        (LINE, LINE._replace(elr=(3,)), ""),
        (LINE._replace(elr=(4,)), LINE._replace(elr=(3,)), "elr 4, not 3"),
        (LINE, LINE._replace(leader=None), "leader 1, not none"),
        (TopicLine("t", None, 1, 2, {"a": "1"}), TopicLine("t", "x", 1, 2, {"a": "2", "b": "3"}), "a 1, not 2"),
        (FeatureLevel("metadata.version", "27"), FeatureLevel("metadata.version", "4.1-IV1"), ""),
        (FeatureLevel("metadata.version", "27"), FeatureLevel("metadata.version", "30"), "level 27, not 30"),
        (EndOffset("t", 0, 5), EndOffset("t", 0, 6), "offset 5, not 6"),
    ],
)
def test_unknown_fields_and_the_order_of_sets_are_no_difference(fact: object, other_fact: object, expected: str) -> None:
    assert differences(fact, other_fact) == expected


def test_gaps_are_filled_with_what_only_the_other_fact_knows() -> None:
    assert fill_gaps(LINE, LINE._replace(leader=2, elr=(3,))) == LINE._replace(elr=(3,))
    assert fill_gaps(LINE._replace(elr=()), LINE._replace(elr=(3,))) == LINE._replace(elr=())
    assert fill_gaps(ListedBroker(1, None), ListedBroker(1, "a")) == ListedBroker(1, "a")
    topic = TopicLine("t", None, 1, 2, {"a": "1"})
    assert fill_gaps(topic, TopicLine("t", "x", 9, 9, {"a": "2", "b": "3"})) == TopicLine("t", "x", 1, 2, {"a": "1", "b": "3"})
