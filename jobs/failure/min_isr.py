"""How many replicas must be in sync for acks=all: columnar forms of kafka_model.log.replication.effective_min_isr.

`min_isr_capped` states whether the brokers of a cluster count at most all replicas (Kafka 3.7 or later), `oldest_min_isr_capped` whether those
of the oldest release that the cluster may run do.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import Ints, to_ints

# For rows with the columns of jobs.failure.election_inputs, in SQL.
EFFECTIVE_MIN_ISR = "if(min_isr_capped, least(min_insync_replicas, size(replicas)), min_insync_replicas)"


def effective_min_isr(columns: Mapping[str, pa.Array] | pa.RecordBatch, capped: str = "min_isr_capped") -> Ints:
    """Return the effective min.insync.replicas of partitions, given with their election inputs; `capped` is one of these columns."""
    configured, assigned = to_ints(columns["min_insync_replicas"], 1), to_ints(pc.list_value_length(columns["replicas"]), 0)
    return np.where(to_ints(columns[capped], 0) > 0, np.minimum(configured, assigned), configured)
