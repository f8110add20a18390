"""The throttle of a plan: the least bandwidth that a copying link has left."""

from __future__ import annotations

import pytest

from jobs.plan.files import commands
from jobs.schema import PARTITION, PARTITION_LOAD
from tests.jobs.plan.clusters import cluster_on_three_racks, plan_rows, with_broker_columns
from tests.jobs.rows import rows


def test_throttle_keeps_the_slowest_copying_link_under_its_share() -> None:
    tables = cluster_on_three_racks([([1, 2], 1, [1, 2])])  # broker 1 copies to broker 3, because brokers 1 and 2 share rack a
    slow = {"network_in_capacity_bytes_per_s": 8e5}
    plans = [
        plan_rows(with_broker_columns(tables, columns), network_share=0.25, balance=False)
        for columns in (
            {},
            {3: slow},
            {2: slow},  # broker 2 copies nothing
            {1: {"network_out_bytes_per_s": 240_000.0}},
            {1: {"network_out_bytes_per_s": 260_000.0}},
            {3: {"network_in_capacity_bytes_per_s": None}},
        )
    ]
    assert [(plan.summary["throttle_bytes_per_s"], plan.summary["throttle_broker_id"]) for plan in plans] == [
        (250_000.0, 1), (200_000.0, 3), (250_000.0, 1), (10_000.0, 1), (0.0, 1), (None, None),
    ]  # fmt: skip
    executes = [next(line for line in commands(plan.summary, plan.moves) if "--execute" in line) for plan in plans]
    assert [line.partition(" --throttle ")[2] for line in executes] == ["250000", "200000", "250000", "10000", "", ""]
    assert any("broker 1 is over 0.25 of its network already" in line for line in commands(plans[4].summary, plans[4].moves))


def test_throttle_names_the_source_of_the_links_load() -> None:
    tables = cluster_on_three_racks([([1, 2], 1, [1, 2])])  # broker 1 copies to broker 3
    load = {"topic": "t", "partition": 0, "network_in_bytes_per_s": 1e5, "network_out_bytes_per_s": 3e5}
    with_load = tables | {PARTITION_LOAD: rows(PARTITION_LOAD, load)}
    with_broker_load = with_broker_columns(with_load, {1: {"network_out_bytes_per_s": 450_000.0}})
    (partition,) = tables[PARTITION].to_pylist()
    without_load = {**partition, "partition": 1, "replicas": [1, 3], "isr": [1, 3]}
    incomplete = with_load | {PARTITION: rows(PARTITION, partition, without_load)}
    sources = []
    for each in (tables, with_load, with_broker_load, incomplete):
        plan = plan_rows(each, balance=False)
        notes = [line for line in commands(plan.summary, plan.moves) if "as far as it is known" in line]
        names = ("throttle_bytes_per_s", "throttle_broker_id", "throttle_load_source", "load_unknown_brokers")
        sources.append((*(plan.summary[name] for name in names), len(notes)))
    assert sources == [
        (500_000.0, 1, "unknown", [1], 1),  # broker 3 has no replica yet, so its load is known to be 0
        (200_000.0, 1, "partition_load", [], 0),
        (50_000.0, 1, "broker", [], 0),
        (200_000.0, 1, "partition_load, incomplete", [1], 1),
    ]


def test_target_of_a_copy_counts_what_its_followers_receive() -> None:
    tables = cluster_on_three_racks([([1, 2], 1, [1, 2]), ([3, 4], 4, [3, 4])])
    loads = [{"topic": "t", "partition": number, "network_in_bytes_per_s": rate} for number, rate in ((0, 0.0), (1, 900_000.0))]
    tables[PARTITION_LOAD] = rows(PARTITION_LOAD, *loads)
    tables = with_broker_columns(tables, {4: {"live": True, "network_in_capacity_bytes_per_s": 1e9}})
    plan = plan_rows(tables, balance=False, network_share=0.46)
    (target,) = plan.moves[0]["added_replicas"]
    # The follower on broker 3 receives 900,000 of the 2,000,000 bytes/s that its link carries.
    assert (target, plan.summary["throttle_broker_id"], plan.summary["throttle_bytes_per_s"]) == (3, 3, pytest.approx(20_000.0))
