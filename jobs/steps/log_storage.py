"""log_storage: the segments, indexes and retention of each replica, the bytes in each log dir, and when it will be full.

Columnar forms of the bounds in kafka_model.log.segments: the minimum number of segments and the maximum index of a replica, from its
size alone. With tiered storage (KIP-405), the retention of a replica on disk is that of local.retention.*: UnifiedLog.localRetentionSize and
localRetentionMs of Kafka 3.6 to 4.4. A replica with a retention in bytes keeps fewer than retention_bytes + segment_bytes, because
deleteRetentionSizeBreachedSegments deletes each segment that is not needed to keep retention_bytes.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jobs.engine import Engine, sql_text
from jobs.schema import BROKER, CLUSTER, DISK_USAGE, LOG_DIR, LOG_STORAGE, REPLICA, TOPIC
from jobs.steps.captures import seconds_between
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, REPLICA)
READS_PREVIOUS = (CLUSTER, DISK_USAGE)
WRITES = (LOG_STORAGE, DISK_USAGE)

_LOG_STORAGE, _DISK_USAGE = (sql_text(__file__, name) for name in ("log_storage", "log_storage_disk_usage"))


def transform(
    cluster: pa.Table,
    broker: pa.Table,
    log_dir: Any,
    topic: Any,
    replica: Any,
    previous_cluster: pa.Table,
    previous_disk_usage: Any,
    *,
    engine: Engine,
) -> Stages[tuple[Any, ...]]:
    storage = yield Stage(engine.sql(_LOG_STORAGE, topic=topic, replica=replica), LOG_STORAGE)
    usage = engine.sql(
        _DISK_USAGE,
        log_storage=storage,
        log_dir=log_dir,
        broker=broker,
        capture=seconds_between(cluster, previous_cluster),
        previous_disk_usage=previous_disk_usage,
    )
    return storage, usage
