-- Brokers with their replicas, and whether they take new ones.
SELECT cluster_id, broker_id, rack, live AND NOT coalesce(cordoned, false) AS takes_replicas, coalesce(replicas, 0) AS replicas
FROM {broker}
LEFT JOIN (
    SELECT cluster_id, broker_id, count(*) AS replicas
    FROM (SELECT cluster_id, explode(replicas) AS broker_id FROM {partition}) replica
    GROUP BY cluster_id, broker_id
) stored USING (cluster_id, broker_id)
