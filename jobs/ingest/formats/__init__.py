"""The formats that the ingest reads, one module per format.

A module has NAME, PRECEDENCE, `recognises(dump)` and `parse(dump)`, which yields every entry as `Parsed` or `Rejected`. A format whose dumps
can be large also has `parse_columns(dump)`: the entries that are not columns, and the columns under their name in `Reading`; or None.
"""

from __future__ import annotations

from jobs.ingest.formats import (
    admin_client,
    broker_list,
    capacity,
    cruise_control,
    kafka_acls,
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
    kafka_streams_groups,
    kafka_topics,
    kcat,
    key_sample,
    metadata_log,
    topology_capture,
    zookeeper,
)

# The first format that recognises a dump parses it. kafka-get-offsets is last, because its lines are the least specific.
FORMATS = (
    topology_capture,
    metadata_log,
    kafka_dump_log,
    kafka_topics,
    kafka_configs,
    kafka_reassign_partitions,
    kafka_log_dirs,
    kafka_acls,
    kafka_streams_groups,
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
    admin_client,
    broker_list,
    kafka_get_offsets,
)
