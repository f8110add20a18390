-- Partitions with their election inputs and the bytes that their leader stores.
SELECT snapshot_id, cluster_id, {INPUTS}, replica_size_bytes, {LEADER_SIZE} AS size_bytes
FROM {election_inputs}
