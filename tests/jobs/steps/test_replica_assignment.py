"""Placements of Kafka's AdminUtils and StripedReplicaPlacer, and the start index or the draws that explain them."""

import pytest
from pyspark.sql import Row, SparkSession

from jobs.engine import DuckdbEngine
from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC
from jobs.spark.worker_rows import rows_of_each
from jobs.steps import replica_assignment
from jobs.steps.observed_topic import ExplainedTopic, ObservedTopic
from jobs.steps.stage import transform
from jobs.steps.striped_placement import StripedPlacer
from tests.jobs.rows import rows, run_step, sorted_rows, table

UNAWARE = [[2, 1, 0], [0, 2, 1], [1, 0, 2], [2, 0, 1], [0, 1, 2], [1, 2, 0]]  # start index 2, shift 1
RACK_AWARE = [
    [0, 3, 1],
    [3, 1, 5],
    [1, 5, 4],
    [5, 4, 2],
    [4, 2, 0],
    [2, 0, 3],
    [0, 4, 2],
    [3, 2, 0],
    [1, 0, 3],
    [5, 3, 1],
]  # from the comment of AdminUtils


# StripedReplicaPlacer 4.3.1 and 3.9.2 with new Random(7): 14 partitions with replication factor 3, then 5 more while broker 21 is fenced
STRIPED_RACKS: dict[int, str | None] = {11: "a", 12: "a", 21: "b", 22: "b", 31: "c", 32: "c"}
STRIPED = [
    [22, 32, 12], [31, 11, 21], [12, 22, 32], [21, 31, 11], [32, 12, 22], [11, 21, 31],
    [12, 22, 32], [21, 31, 11], [32, 12, 22], [11, 21, 31], [22, 32, 12], [31, 11, 21],
    [21, 31, 12], [32, 11, 22],
]  # fmt: skip
ADDED = [[12, 22, 32], [22, 31, 11], [32, 12, 22], [11, 22, 31], [22, 32, 12]]


def run(
    spark: SparkSession,
    racks: dict[int, str | None],
    topics: dict[str, list[list[int]]],
    *,
    controller: str | None = "zookeeper",
    not_live: tuple[int, ...] = (),
    cordoned: tuple[int, ...] = (),
    sources: tuple[str, ...] = ("zookeeper",),
    **parameters: str,
) -> tuple[list[Row], dict[str, Row]]:
    cluster = table(
        spark, CLUSTER, {"controller": controller or "zookeeper", "controller_assumed": controller is None, "sources": list(sources)}
    )
    broker = table(
        spark,
        BROKER,
        *({"broker_id": id, "rack": rack, "live": id not in not_live, "cordoned": id in cordoned or None} for id, rack in racks.items()),
    )
    topic = table(
        spark, TOPIC, *({"topic": name, "partitions": len(placed), "replication_factor": len(placed[0])} for name, placed in topics.items())
    )
    placed = [(name, p, replicas) for name, placed in topics.items() for p, replicas in enumerate(placed)]
    partition = table(
        spark,
        PARTITION,
        *({"topic": name, "partition": p, "leader": replicas[0], "replicas": replicas, "isr": replicas} for name, p, replicas in placed),
    )
    assignment, placement = run_step(replica_assignment, cluster, broker, topic, partition, parameters=parameters)
    return assignment.orderBy("topic", "partition").collect(), {row.topic: row for row in placement.collect()}


def test_start_index_2_and_shift_1_are_recovered(spark: SparkSession) -> None:
    assignment, placement = run(spark, {0: None, 1: None, 2: None}, {"seed": UNAWARE})
    found = placement["seed"]
    assert (found.algorithm, found.start_index, found.shift, found.explained, found.matching_partitions) == ("rack-unaware", 2, 1, True, 6)
    assert [row.replicas for row in assignment] == UNAWARE
    assert not any(row.drifted for row in assignment)


def test_a_moved_replica_is_drift_and_the_start_index_is_still_recovered(spark: SparkSession) -> None:
    moved = [*UNAWARE[:3], [0, 2, 1], *UNAWARE[4:]]
    assignment, placement = run(spark, {0: None, 1: None, 2: None}, {"moved": moved})
    assert (placement["moved"].start_index, placement["moved"].matching_partitions, placement["moved"].explained) == (2, 5, False)
    assert [(row.partition, row.replicas, row.misplaced_replicas) for row in assignment if row.drifted] == [(3, [2, 0, 1], 0)]


def test_racks_alternate_as_in_the_comment_of_adminutils(spark: SparkSession) -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assignment, placement = run(spark, racks, {"racked": RACK_AWARE})
    found = placement["racked"]
    assert (found.algorithm, found.start_index, found.shift, found.explained) == ("rack-aware", 0, 0, True)
    assert [row.replicas for row in assignment] == RACK_AWARE


def test_a_requested_start_index_is_also_the_shift(spark: SparkSession) -> None:
    # AdminUtils 3.9.2: assignReplicasToBrokers([0, 1, 2], 6 partitions, RF 3, fixedStartIndex 1)
    placed = [[1, 0, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0], [2, 0, 1], [0, 1, 2]]
    assignment, placement = run(spark, {0: None, 1: None, 2: None}, {"seed": UNAWARE}, start_index="1")
    assert [row.replicas for row in assignment] == placed
    assert (placement["seed"].start_requested, placement["seed"].matching_partitions) == (True, 0)


def test_a_start_index_of_fewer_than_half_of_the_partitions_explains_nothing(spark: SparkSession) -> None:
    assignment, placement = run(spark, {0: None, 1: None, 2: None}, {"by hand": [UNAWARE[0], [0, 1, 2], [0, 1, 2], [1, 2, 0]]})
    found = placement["by hand"]
    assert (found.algorithm, found.start_index, found.shift, found.matching_partitions) == ("rack-unaware", None, None, None)
    assert (found.explained, found.first_unexplained_partition) == (False, 0)
    assert [(row.replicas, row.drifted, row.misplaced_replicas) for row in assignment] == [(None, None, None)] * 4


def test_draws_of_the_striped_placer_explain_the_topics_of_a_kraft_cluster(spark: SparkSession) -> None:
    topics = {"new": STRIPED, "grown": [*STRIPED, *ADDED]}
    assignment, placement = run(spark, STRIPED_RACKS, topics, controller="kraft", not_live=(21,))
    new, grown = placement["new"], placement["grown"]
    for found, partitions in ((new, 14), (grown, 19)):
        assert (found.algorithm, found.start_index, found.shift, found.start_requested, found.refusal) == (
            "striped",
            None,
            None,
            False,
            None,
        )
        assert (found.partitions, found.matching_partitions, found.explained) == (partitions, partitions, True)
        assert found.first_unexplained_partition is None
    assert [(draw.first_partition, draw.fenced, draw.rack_offset) for draw in grown.draws] == [(0, [], 1), (14, [21], 0)]
    assert new.draws[0].broker_offsets == [1, None, 1, None, 1, None]
    assert [(shuffle.rack_order, shuffle.broker_order) for shuffle in new.draws[0].shuffles] == [
        ([2, 0, 1], [11, 12, 21, 22, 31, 32]), ([0, 1, 2], [11, 12, 22, 21, 32, 31])
    ]  # fmt: skip
    assert {(row.replicas == row.observed, row.drifted, row.misplaced_replicas) for row in assignment} == {(True, False, 0)}


def test_a_replica_that_was_moved_by_hand_is_drift_from_the_draws_of_the_others(spark: SparkSession) -> None:
    moved = [*STRIPED[:3], [21, 31, 12], *STRIPED[4:]]
    assignment, placement = run(spark, STRIPED_RACKS, {"moved": moved}, controller="kraft")
    found = placement["moved"]
    assert (found.explained, found.matching_partitions, found.first_unexplained_partition) == (False, 13, 3)
    assert [draw.first_partition for draw in found.draws] == [0]
    drifted = [(row.partition, row.replicas, row.observed, row.misplaced_replicas) for row in assignment if row.drifted]
    assert drifted == [(3, [21, 31, 11], [21, 31, 12], 1)]


def test_a_topic_of_a_kraft_cluster_that_was_assigned_by_hand_has_no_placement(spark: SparkSession) -> None:
    assignment, placement = run(
        spark, STRIPED_RACKS, {"by hand": [[11, 12, 21], [11, 21, 12], [22, 21, 32], [11, 31, 32]]}, controller="kraft"
    )
    found = placement["by hand"]
    assert (found.algorithm, found.draws, found.matching_partitions, found.explained) == ("striped", None, None, False)
    assert found.first_unexplained_partition == 0
    assert [(row.replicas, row.drifted, row.misplaced_replicas) for row in assignment] == [(None, None, None)] * 4


def test_a_start_index_is_requested_for_adminutils_alone(spark: SparkSession) -> None:
    _, placement = run(spark, STRIPED_RACKS, {"t": STRIPED}, controller="kraft", start_index="1")
    assert (placement["t"].start_requested, placement["t"].start_index, placement["t"].explained) == (False, None, True)


def test_without_a_known_kind_of_controller_the_placement_is_unknown(spark: SparkSession) -> None:
    assignment, placement = run(spark, STRIPED_RACKS, {"t": STRIPED}, controller=None, start_index="1")
    found = placement["t"]
    assert assignment == []
    assert (found.algorithm, found.start_index, found.draws, found.partitions) == (None, None, None, 14)
    assert (found.matching_partitions, found.explained, found.first_unexplained_partition, found.refusal) == (None, None, None, None)


def test_without_known_racks_the_placement_is_unknown(spark: SparkSession) -> None:
    for controller in ("kraft", "zookeeper"):
        assignment, placement = run(spark, {0: None, 1: None, 2: None}, {"t": UNAWARE}, controller=controller, sources=("kafka-topics",))
        found = placement["t"]
        assert assignment == []
        assert (found.algorithm, found.partitions, found.explained, found.first_unexplained_partition) == (None, 6, None, None)
        _, placement = run(spark, {0: None}, {"on the only broker": [[0], [0]]}, controller=controller, sources=("kafka-topics",))
        assert placement["on the only broker"].explained


def test_the_unknown_rack_of_a_dead_broker_is_any_rack(spark: SparkSession) -> None:
    _, placement = run(spark, {**STRIPED_RACKS, 21: None}, {"t": STRIPED}, controller="kraft", not_live=(21,))
    assert placement["t"].explained


def test_a_cordoned_broker_has_no_part_in_the_placements_since(spark: SparkSession) -> None:
    """Broker 13 was cordoned before `new` was created, and before `grown` got more partitions."""
    racks = {**STRIPED_RACKS, 13: "a"}
    before = [[13, 21, 31], [22, 32, 11]]  # rack offset 0; offsets 2, 0, 0
    topics = {"new": STRIPED, "grown": [*before, *STRIPED]}
    _, placement = run(spark, racks, topics, controller="kraft", cordoned=(13,))
    assert [placement[topic].explained for topic in topics] == [True, True]
    assert [draw.first_partition for draw in placement["grown"].draws] == [0, 2]
    _, placement = run(spark, racks, topics, controller="kraft")
    assert [placement[topic].explained for topic in topics] == [False, False]


def test_a_placement_that_the_kraft_controller_refuses_has_the_reason(spark: SparkSession) -> None:
    _, placement = run(spark, {0: "a", 1: None}, {"mixed": [[1, 0], [0, 1]]}, controller="kraft")
    assert (placement["mixed"].algorithm, placement["mixed"].refusal, placement["mixed"].explained) == ("striped", None, True)
    _, placement = run(spark, {0: None, 1: None}, {"fenced": [[0, 1]]}, controller="kraft", not_live=(0, 1))
    assert (placement["fenced"].explained, placement["fenced"].refusal) == (True, "all brokers are fenced")


def test_a_placement_that_kafka_refuses_has_the_reason(spark: SparkSession) -> None:
    _, placement = run(spark, {0: "a", 1: None}, {"mixed": [[0, 1]]})
    assert placement["mixed"].refusal == "not all brokers have rack information"
    _, placement = run(spark, {0: None}, {"wide": [[0, 0]]})
    assert (placement["wide"].algorithm, placement["wide"].refusal) == (None, "replication factor 2 larger than the 1 brokers")


def test_replication_factor_1_and_a_single_broker_are_placed(spark: SparkSession) -> None:
    assignment, placement = run(spark, {7: None}, {"single": [[7], [7], [7]]})
    assert [row.replicas for row in assignment] == [[7], [7], [7]]
    assert placement["single"].explained


def test_each_topic_is_placed_on_the_brokers_of_its_own_cluster(spark: SparkSession) -> None:
    """Both clusters have a topic of the same name; the partitions of an unknown topic, and topics without brokers, have no placement."""
    in_a, in_b, without_brokers = ({"cluster_id": id} for id in ("a", "b", "without brokers"))
    sources = {"controller": "zookeeper", "sources": ["zookeeper"]}
    placed_on_7 = [{"topic": topic, "partition": p, "replicas": [7]} for topic in ("seed", "unknown") for p in (1, 0)]
    assignment, placement = run_step(
        replica_assignment,
        table(spark, CLUSTER, *(id | sources for id in (in_a, in_b, without_brokers))),
        table(spark, BROKER, *(in_a | {"broker_id": id, "live": True} for id in range(3)), in_b | {"broker_id": 7, "live": True}),
        table(
            spark,
            TOPIC,
            in_a | {"topic": "seed", "replication_factor": 3},
            in_b | {"topic": "seed", "replication_factor": 1},
            in_b | {"topic": "empty", "replication_factor": 1},
            without_brokers | {"topic": "seed", "replication_factor": 1},
        ),
        table(
            spark,
            PARTITION,
            *(in_a | {"topic": "seed", "partition": p, "replicas": replicas} for p, replicas in enumerate(UNAWARE)),
            *(id | row for id in (in_b, without_brokers) for row in placed_on_7),
        ),
        parameters={},
    )
    assert sorted_rows(placement, "cluster_id", "topic", "partitions", "start_index", "explained") == [
        ("a", "seed", 6, 2, True), ("b", "empty", 0, None, True), ("b", "seed", 2, 0, True)
    ]  # fmt: skip
    assert sorted_rows(assignment.where("cluster_id = 'b'"), "topic", "partition", "replicas") == [("seed", 0, [7]), ("seed", 1, [7])]
    assert sorted_rows(assignment.where("cluster_id = 'a'"), "partition", "replicas") == [*enumerate(UNAWARE)]


def test_the_partitions_of_all_clusters_decide_whether_the_search_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a large night each call of the workers gets one cluster."""
    used: set[bool] = set()

    def explain(placer: StripedPlacer, topic: ObservedTopic, *, compiled: bool) -> ExplainedTopic:
        used.add(compiled)
        return ExplainedTopic(False)

    def compiled(all_partitions: int) -> set[bool]:
        used.clear()
        ids = [f"c{number}" for number in range(all_partitions)]
        inputs = (
            rows(CLUSTER, *({"cluster_id": id, "controller": "kraft"} for id in ids)),
            rows(BROKER, *({"cluster_id": id, "broker_id": 1, "live": True} for id in ids)),
            rows(TOPIC, *({"cluster_id": id, "topic": "t", "replication_factor": 1} for id in ids)),
            rows(PARTITION, *({"cluster_id": id, "topic": "t", "replicas": [1]} for id in ids)),
        )
        stage = next(transform(replica_assignment, inputs, engine=DuckdbEngine(), parameters={}))
        for of_cluster in rows_of_each(iter(stage.input.toArrow().to_batches()), stage.together):
            assert len([*stage.compute(iter(of_cluster.to_batches()))]) == 2
        return set(used)

    monkeypatch.setattr(StripedPlacer, "explain", explain)
    monkeypatch.setattr(replica_assignment, "COMPILED_FROM", 4)
    assert (compiled(3), compiled(4)) == ({False}, {True})
