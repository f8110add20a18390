"""Compare live groups with the prediction: python -m tests.cluster.groups

Starts three brokers in three racks, and groups with every assignor, with and without client.rack, whose members have the same or different
subscriptions, or subscribe by a regular expression. Three times, the groups settle and are captured: with their first members, with one
member more, and with one fewer. Each time

* the step consumer_assignment must find no difference between the observed assignment and that of the group's own assignor (a sticky group
  with client racks may also have an unknown number of them: its assignment depends on the one before);
* after a change of members, the assignors of the model must turn the earlier assignment into the observed one.

The exit code is 1 if a partition differs or an assignment is unknown. It takes about three minutes on an idle machine.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from jobs import ingest
from jobs.capture import capture_clusters
from jobs.engine import DuckdbEngine
from jobs.spark.worker_rows import WorkerRows
from jobs.steps import consumer_assignment
from jobs.steps.described_groups import brokers_by_cluster, described_groups
from jobs.steps.group_assignors import assign
from jobs.steps.stage import transform
from kafka_model.assignor.group import Assignment, TopicPartition
from tests.cluster import Cluster, cluster
from tests.cluster.stories import COOPERATIVE, RANGE, ROUND_ROBIN, SERVER_RANGE, STICKY, UNIFORM
from tests.cluster.workload import Group, workload

RACKS = {1: "rack-a", 2: "rack-b", 3: "rack-c"}
# Partitions on one rack, on two and on all; near and next have the same number of partitions (co-partitioned).
TOPICS = {"near": "1,2,3,1,1,2,3", "next": "3,1,2,2,1,3,1", "pair": "1:2,2:3,3:1,1:3,2:1", "wide": "1:2:3,2:3:1,3:1:2,1:3:2"}
ASSIGNORS = {
    "range": RANGE, "roundrobin": ROUND_ROBIN, "sticky": STICKY, "cooperative": COOPERATIVE, "uniform": UNIFORM, "server-range": SERVER_RANGE, "share": {},
}  # fmt: skip
SUBSCRIPTIONS: Mapping[str, Sequence[Sequence[str]]] = {
    "same": [["near", "next", "pair"]] * 4,
    "different": [["near", "pair"], ["near", "next", "wide"], ["pair"], ["next", "wide"]],
    "regex": [[]] * 4,
}
GROUPS = [
    Group(
        f"{assignor}-{subscription}{'-racks' if racks else ''}",
        members,
        config,
        regex="n.*t|ne.r|wi(d)e",
        racks=("rack-c", "rack-a", "rack-a") if racks else (),
        share=assignor == "share",
    )
    for assignor, config in ASSIGNORS.items()
    for subscription, members in SUBSCRIPTIONS.items()
    for racks in (False, True)
    if (assignor, subscription) != ("share", "regex")  # share groups have no regular expressions
]


def main() -> int:
    """Run all groups, and print a line for each difference."""
    with cluster(RACKS) as kafka, tempfile.TemporaryDirectory() as folder:
        for topic, assignment in TOPICS.items():
            kafka.tool("kafka-topics", "--create", "--topic", topic, "--replica-assignment", assignment)
        with workload(kafka, heap="1g") as applications:
            found: list[str] = []
            before: Mapping[str, Assignment] = {}
            for stage in ("first members", "one member more", "one member fewer"):
                for group in GROUPS:
                    if stage == "first members":
                        for number in range(1, len(group.members)):
                            applications.add(group, number)
                    elif stage == "one member more":
                        applications.add(group, len(group.members))
                    else:
                        applications.remove_last(group)
                applications.settle()
                tables = capture(kafka, Path(folder, stage.replace(" ", "-")))
                found += [f"{stage}: {text}" for text in [*differences(tables), *transitions(tables, before)]]
                before = observed(tables)
                print(f"{stage}: {len(GROUPS)} groups, {len(found)} differences so far", flush=True)
    print(*found, sep="\n")
    return 1 if found else 0


def capture(kafka: Cluster, folder: Path) -> dict[str, pa.Table]:
    """Capture the cluster, and return the tables that ingest reads from the capture."""
    unread = capture_clusters(str(folder), {"live": lambda client: {"bootstrap.servers": kafka.bootstrap}})
    if unread:
        raise RuntimeError(str(unread))
    tables = ingest.read(lambda: sys.exit("a small source starts no Spark session"), str(folder), "s")
    return {table.name: rows for table, rows in zip(ingest.WRITES, tables, strict=True)}


def differences(tables: Mapping[str, pa.Table]) -> list[str]:
    """Return a text for each group whose own assignor does not give the observed assignment, or whose assignment is unknown."""
    _, summary = _worker_rows(tables).in_this_process()
    own = {row["group_id"]: "simple" if row["protocol"] == "share" else row["assignor"] for row in tables["consumer_group"].to_pylist()}
    return [
        f"{row['group_id']} {row['assignor']}: {row['observed_differences']} differences, missing {row['missing_input']}"
        for row in summary.to_pylist()
        if row["members_change"] == 0 and row["assignor"] == own[row["group_id"]] and (row["observed_differences"] or row["missing_input"])
    ]


def transitions(tables: Mapping[str, pa.Table], before: Mapping[str, Assignment]) -> list[str]:
    """Return a text for each group whose assignor does not turn its assignment `before` into the observed one."""
    after, found = observed(tables), []
    (brokers,) = brokers_by_cluster(tables["cluster"], tables["broker"]).values()
    for group_id, described in described_groups(_worker_rows(tables).input.toArrow(), brokers) if before else ():
        group = replace(described, observed=before[group_id])
        predicted = assign(group.own_assignor or "", group, group.members)
        if _by_member(predicted) != _by_member(after[group_id]):
            found.append(f"{group_id}: before {before[group_id]}, predicted {predicted}, observed {after[group_id]}")
    return found


def observed(tables: Mapping[str, pa.Table]) -> dict[str, Assignment]:
    """Return the observed partitions of each member, by group."""
    assignments: dict[str, Assignment] = {}
    for row in tables["observed_assignment"].to_pylist():
        assigned = assignments.setdefault(row["group_id"], {}).setdefault(row["member_id"], [])
        assigned.append((row["topic"], row["partition"]))
    return assignments


def _worker_rows(tables: Mapping[str, pa.Table]) -> WorkerRows:
    inputs = [tables[table.name] for table in consumer_assignment.READS]
    rows: WorkerRows = next(transform(consumer_assignment, inputs, engine=DuckdbEngine()))
    return rows


def _by_member(assignment: Assignment) -> dict[str, list[TopicPartition]]:
    return {member: sorted(assigned) for member, assigned in assignment.items() if assigned}


if __name__ == "__main__":
    sys.exit(main())
