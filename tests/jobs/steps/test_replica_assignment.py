"""Placements of Kafka's AdminUtils, and the start index that explains them."""

from pyspark.sql import Row, SparkSession

from jobs.schema import BROKER, PARTITION, TOPIC
from jobs.steps import replica_assignment
from tests.jobs.rows import run_step, table

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


def run(
    spark: SparkSession, racks: dict[int, str | None], topics: dict[str, list[list[int]]], **parameters: str
) -> tuple[list[Row], dict[str, Row]]:
    broker = table(spark, BROKER, *({"broker_id": id, "rack": rack, "live": True} for id, rack in racks.items()))
    topic = table(
        spark, TOPIC, *({"topic": name, "partitions": len(placed), "replication_factor": len(placed[0])} for name, placed in topics.items())
    )
    placed = [(name, p, replicas) for name, placed in topics.items() for p, replicas in enumerate(placed)]
    partition = table(
        spark,
        PARTITION,
        *({"topic": name, "partition": p, "leader": replicas[0], "replicas": replicas, "isr": replicas} for name, p, replicas in placed),
    )
    assignment, placement = run_step(replica_assignment, broker, topic, partition, parameters=parameters)
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


def test_a_placement_that_kafka_refuses_has_the_reason(spark: SparkSession) -> None:
    _, placement = run(spark, {0: "a", 1: None}, {"mixed": [[0, 1]]})
    assert placement["mixed"].refusal == "not all brokers have rack information"
    _, placement = run(spark, {0: None}, {"wide": [[0, 0]]})
    assert (placement["wide"].algorithm, placement["wide"].refusal) == (None, "replication factor 2 larger than the 1 brokers")


def test_replication_factor_1_and_a_single_broker_are_placed(spark: SparkSession) -> None:
    assignment, placement = run(spark, {7: None}, {"single": [[7], [7], [7]]})
    assert [row.replicas for row in assignment] == [[7], [7], [7]]
    assert placement["single"].explained
