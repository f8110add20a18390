-- A sentence per partition and failure: what the failure does to the partition, and why.
-- Example: SELECT sentence FROM explanation WHERE latest AND scenario_id = 'rack rack-b'
SELECT f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic, f.partition, f.latest,
       concat(f.topic, '-', f.partition, ' was ',
              CASE WHEN f.leader_before IS NULL THEN 'without a leader' ELSE concat('led by ', f.leader_before) END,
              ', ', f.safe_replicas_before, ' live replicas with every acknowledged record; ', f.scenario_id,
              CASE WHEN f.live_replicas = 0 THEN ' takes its last replica'
                   WHEN f.safe_replicas = 0 AND f.safe_replicas_before > 0 THEN ' takes the last of them'
                   ELSE concat(' leaves ', f.safe_replicas, ' of them') END, ': ',
              CASE WHEN f.leader IS NULL AND s.quorum_lost THEN 'no quorum of controllers is left to elect a leader, it is offline'
                   WHEN f.leader IS NULL THEN 'no election finds a leader, it is offline'
                   WHEN f.unclean THEN concat(f.leader, ' is elected uncleanly, records are lost')
                   WHEN f.leader = f.leader_before THEN concat(f.leader, ' remains the leader')
                   ELSE concat(f.leader, ' is elected (', f.election, ')') END,
              CASE WHEN f.leader IS NULL THEN ''
                   WHEN f.under_min_isr AND s.quorum_lost
                   THEN ', acks=all is refused: no quorum of controllers is left to remove the dead broker from its ISR'
                   WHEN f.under_min_isr THEN concat(', acks=all is refused: it needs ', f.min_insync_replicas, ' replicas in sync')
                   WHEN f.at_min_isr THEN ', at min ISR'
                   ELSE ', acks=all is accepted' END,
              -- Another failed replica may have these bytes too.
              CASE WHEN coalesce(f.at_risk_size_bytes, 0) = 0 THEN ''
                   WHEN f.leader IS NOT NULL THEN concat('; the new leader lacks ', f.at_risk_size_bytes, ' bytes of the lost leader')
                   WHEN f.live_replicas > 0 THEN concat('; no live replica has the last ', f.at_risk_size_bytes, ' bytes of the lost leader')
                   ELSE concat('; no live replica has the ', f.at_risk_size_bytes, ' bytes of the lost leader') END,
              CASE WHEN s.order_dependent_partitions IS NULL
                   THEN '; the order of the deaths decides which of them the controllers handle before they lose their quorum'
                   WHEN CAST(f.order_dependent_columns AS STRING) <> '[]'
                   THEN concat('; another order of the deaths changes ', translate(CAST(f.order_dependent_columns AS STRING), '[]', ''))
                   ELSE '' END,
              CASE WHEN f.depends_on_version THEN '; another Kafka version that the cluster may run decides otherwise' ELSE '' END)
       AS sentence
FROM failover f
JOIN scenario s ON s.snapshot_id = f.snapshot_id AND s.cluster_id = f.cluster_id
     AND s.scenario_set = f.scenario_set AND s.scenario_id = f.scenario_id
