"""Rows of `group_load`: how evenly the members of consumer groups share what they read, and how much of it crosses racks.

The load of a partition is what producers sent to it: the growth since the previous snapshot, otherwise the sample. A member that reports its
rack (client.rack) reads from the leader, on any rack, unless the brokers have the RackAwareReplicaSelector.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jobs.engine import Engine, sql_text
from jobs.steps.stage import Stage, Stages

_MEMBER_TOPIC, _GROUP_LOAD = (sql_text(__file__, name) for name in ("group_load_member_topic", "group_load"))


def group_load(
    engine: Engine, cluster_brokers: pa.Table, partition: Any, producer_load: Any, group_member: Any, observed_assignment: Any
) -> Stages[Any]:
    """Return a row for each group, and one for each cluster about the hosts of all its groups."""
    member_topic = yield Stage(
        engine.sql(
            _MEMBER_TOPIC,
            cluster_brokers=cluster_brokers,
            partition=partition,
            producer_load=producer_load,
            group_member=group_member,
            observed_assignment=observed_assignment,
        )
    )
    return engine.sql(_GROUP_LOAD, member_topic=member_topic)
