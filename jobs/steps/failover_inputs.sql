-- Partitions with their election inputs and the records per byte that were written since the previous snapshot (null: unknown). The growth
-- of a size lacks the bytes that retention deleted, so it is no measure of a record.
SELECT e.*, l.observed_records / l.observed_size_bytes AS records_per_byte
FROM {election_inputs} e
LEFT JOIN (SELECT * FROM {producer_load} WHERE observed_size_bytes > 0 AND observed_size_source <> 'size_growth') l
     ON l.snapshot_id = e.snapshot_id AND l.cluster_id = e.cluster_id AND l.topic = e.topic AND l.partition = e.partition
