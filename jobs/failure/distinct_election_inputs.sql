-- Distinct election inputs of a cluster, with the number of their partitions. Partitions with the same inputs have the same outcomes, and a
-- fleet has a third as many distinct inputs as partitions.
SELECT snapshot_id, cluster_id, {INPUTS}, count(*) AS partitions
FROM {election_inputs}
GROUP BY snapshot_id, cluster_id, {INPUTS}
