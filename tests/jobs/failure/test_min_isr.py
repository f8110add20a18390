"""The columnar forms of the effective min.insync.replicas, compared with the model."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa

from jobs.engine import DuckdbEngine
from jobs.failure.min_isr import EFFECTIVE_MIN_ISR, effective_min_isr
from kafka_model.log.replication import effective_min_isr as effective_min_isr_of_one


def test_the_columnar_forms_equal_the_model() -> None:
    cases = [(min_isr, list(range(replicas))) for min_isr, replicas in product(range(6), range(1, 6))]
    columns = {
        "min_insync_replicas": pa.array([min_isr for min_isr, _ in cases], pa.int32()),
        "replicas": pa.array([replicas for _, replicas in cases], pa.list_(pa.int32())),
    }
    expected = [effective_min_isr_of_one(min_isr, len(replicas)) for min_isr, replicas in cases]
    assert np.array_equal(effective_min_isr(columns), expected)
    by_sql = DuckdbEngine().sql(f"SELECT {EFFECTIVE_MIN_ISR} AS effective FROM {{partitions}}", partitions=pa.table(columns))
    assert by_sql["effective"].to_pylist() == expected
