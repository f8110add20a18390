-- A row per cluster, kind of failure (broker: any broker killed; stop: any broker stopped by controlled shutdown; rack: any rack lost;
-- pair: any two brokers that share a partition killed) and harm (data, reads, writes): whether the cluster survives, and the failure that
-- harms the most partitions with its own counts. These are null if the cluster survives all. If several failures harm equally many
-- partitions, the one with the lowest broker ids is named.
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
