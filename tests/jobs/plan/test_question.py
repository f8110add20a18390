"""Questions that a cluster cannot have a plan for."""

from __future__ import annotations

import pytest

from jobs.errors import AuditError
from jobs.schema import PARTITION
from tests.jobs.plan.clusters import cluster_on_three_racks, plan_rows
from tests.jobs.rows import rows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drain": [9]}, "cluster c has no broker 9: it has 1, 2, 3, 4"),
        ({"drain": [1, 2, 3, 4]}, "cluster c would have no broker left"),
        ({"add": {4: None}}, "cluster c already has broker 4"),
        ({"topics": ["u"]}, "cluster c has no topic u"),
        ({"replication_factor": {"v": 3}}, "cluster c has no topic v"),
        ({"replication_factor": {"t": 9}}, "--replication-factor t=9: cluster c would have 4 live brokers: use 4 or fewer, or --add"),
        ({"replication_factor": {"t": 4}, "drain": [1]}, "--replication-factor t=4: cluster c would have 3 live brokers"),
        ({"add": {13: None}}, "--add 13: the brokers of cluster c have racks: use --add 13:RACK with one of a, b, c or a new one"),
    ],
)
def test_impossible_question_is_refused_in_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        plan_rows(cluster_on_three_racks([([1, 3], 1, [1, 3])]), **options)


def test_cluster_with_a_running_reassignment_gets_no_plan() -> None:
    tables = cluster_on_three_racks([([1, 3], 1, [1, 3])])
    tables[PARTITION] = rows(PARTITION, {**tables[PARTITION].to_pylist()[0], "adding_replicas": [4]})
    with pytest.raises(AuditError, match="cluster c is reassigning 1 partitions: plan on a snapshot taken after they are complete"):
        plan_rows(tables)
