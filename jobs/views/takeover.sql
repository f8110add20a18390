-- The leaders and the load that each surviving broker takes over in a failure, and the number of partitions that it leads before and after.
-- Example: SELECT scenario_id, broker_id, leaders_before, leaders_after FROM takeover WHERE latest
SELECT l.snapshot_id, l.cluster_id, l.scenario_set, l.scenario_id, l.broker_id, l.leaders_before, l.gained_leaders,
       l.leaders_before + l.gained_leaders AS leaders_after, l.gained_records, l.gained_size_bytes, l.gained_share,
       l.gained_size_bytes_per_s, l.network_out_bytes_per_s, l.network_out_share, l.latest
FROM failover_load l
