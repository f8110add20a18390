"""The columnar forms of the effective min.insync.replicas, compared with the model, and the release of the cluster that decides it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa

from jobs.engine import DuckdbEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.counts import FailureCounts, count_refusing
from jobs.failure.election_inputs import election_inputs
from jobs.failure.min_isr import EFFECTIVE_MIN_ISR, effective_min_isr
from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC
from kafka_model.log.replication import effective_min_isr as effective_min_isr_of_one
from kafka_model.release import Release
from tests.jobs.rows import rows


def test_the_columnar_forms_equal_the_model() -> None:
    capped = {Release(2, 0, 0): False, Release(3, 6, 2): False, Release(3, 7, 0): True, Release(4, 4, 0): True}
    cases = [(release, min_isr, list(range(replicas))) for release, min_isr, replicas in product(capped, range(6), range(1, 6))]
    columns = {
        "min_isr_capped": pa.array([capped[release] for release, _, _ in cases]),
        "min_insync_replicas": pa.array([min_isr for _, min_isr, _ in cases], pa.int32()),
        "replicas": pa.array([replicas for _, _, replicas in cases], pa.list_(pa.int32())),
    }
    expected = [effective_min_isr_of_one(min_isr, len(replicas), release) for release, min_isr, replicas in cases]
    assert np.array_equal(effective_min_isr(columns), expected)
    by_sql = DuckdbEngine().sql(f"SELECT {EFFECTIVE_MIN_ISR} AS effective FROM {{partitions}}", partitions=pa.table(columns))
    assert by_sql.toArrow()["effective"].to_pylist() == expected


def test_before_3_7_a_partition_with_too_few_replicas_refuses_acks_all_before_any_failure() -> None:
    """Brokers 1 and 2 are in sync, and min.insync.replicas is 3."""
    partition = rows(PARTITION, {"topic": "t", "leader": 1, "replicas": [1, 2], "isr": [1, 2]})
    topic = rows(TOPIC, {"topic": "t", "replication_factor": 2, "min_insync_replicas": 3})
    brokers = rows(BROKER, {"broker_id": 1, "live": True}, {"broker_id": 2, "live": True}).to_pylist()
    found = {}
    for version, controller in product(("3.6.2", "3.7.0"), ("kraft", "zookeeper")):
        cluster = {"controller": controller, "kafka_version": version, "kafka_version_source": "configured"}
        state = cluster_states(rows(CLUSTER, cluster).to_pylist(), brokers)["c"]
        (batch,) = election_inputs(DuckdbEngine(), partition, topic, [state]).toArrow().combine_chunks().to_batches()
        counts = FailureCounts(state)
        counts.add(batch)
        killed = next(failure for failure in counts.compare(counts) if failure.scenario_id == "broker 2")
        found[version, controller] = (count_refusing(batch), killed.before.newly_refusing_acks_all)
    assert found == {
        ("3.6.2", "kraft"): (1, 0),
        ("3.6.2", "zookeeper"): (1, 0),
        ("3.7.0", "kraft"): (0, 1),
        ("3.7.0", "zookeeper"): (0, 1),
    }
