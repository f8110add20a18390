"""The formats that are understood, one module each: NAME, whether a dump is of it, and what its entries tell."""

from __future__ import annotations

from jobs.ingest.formats import (
    broker_list,
    capacity,
    cruise_control,
    kafka_broker_api_versions,
    kafka_cluster,
    kafka_configs,
    kafka_consumer_groups,
    kafka_dump_log,
    kafka_features,
    kafka_get_offsets,
    kafka_log_dirs,
    kafka_metadata_quorum,
    kafka_reassign_partitions,
    kafka_share_groups,
    kafka_topics,
    kcat,
    key_sample,
    metadata_log,
    topology_capture,
    zookeeper,
)

# The first that recognises a dump reads it. kafka-get-offsets has the least to go by, and comes last.
FORMATS = (
    topology_capture,
    metadata_log,
    kafka_dump_log,
    kafka_topics,
    kafka_configs,
    kafka_reassign_partitions,
    kafka_log_dirs,
    kafka_share_groups,
    kafka_consumer_groups,
    kafka_broker_api_versions,
    kafka_cluster,
    kafka_features,
    kafka_metadata_quorum,
    zookeeper,
    kcat,
    cruise_control,
    capacity,
    key_sample,
    broker_list,
    kafka_get_offsets,
)
