-- Whether each cluster survives each kind of failure, and which failure is the worst. A row per cluster, kind (broker: any broker killed;
-- stop: any broker stopped by controlled shutdown; rack: any rack lost; pair: any two brokers that share a partition killed) and harm (data,
-- reads, writes). `worst_scenario` is the failure that harms the most partitions, if several harm equally many the one with the lowest broker
-- ids. It and its counts are null if the cluster survives all.
-- Example: SELECT cluster_id, kind, harm, survives, worst_scenario FROM survival WHERE latest
SELECT snapshot_id, cluster_id, kind, harm, latest, scenarios, harmed = 0 AS survives,
       {worst_columns}
FROM (
    SELECT snapshot_id, cluster_id, kind, harm, latest, count(*) AS scenarios, max(harmed) AS harmed,
           {worst_aggregates}
    FROM (
        SELECT failure.*, harms.harm, CASE harms.harm {harmed_by_harm} END AS harmed
        FROM harm AS failure CROSS JOIN ({harms}) AS harms
    ) AS each_harm
    GROUP BY snapshot_id, cluster_id, kind, harm, latest
) AS worst
