-- What is wrong with a cluster: a row per cause. The rules that the cause breaks are its symptoms; the row describes the worst of them, and
-- `symptoms` counts the others (view `broken_rule`). `priority` is 1 for data loss, 2 for unavailable, 3 for writes refused, 4 for less redundancy,
-- 5 for balance and 6 for hygiene. `since_snapshot_id` is the first night of the longest series of a symptom; `is_new`: the previous night had
-- none. `smallest_change` repairs the row in `example`.
-- Example: SELECT cluster_id, consequence, problem, smallest_change FROM finding WHERE latest ORDER BY priority, broken_rows DESC
SELECT f.snapshot_id, f.cluster_id, f.cause, f.priority, f.consequence, f.problem, f.broken_rows, f.since_snapshot_id, f.nights,
       s.previous_snapshot_id IS NOT NULL AND f.since_snapshot_id = f.snapshot_id AS is_new,
       f.smallest_change, f.example, f.suite, f.rule, f.symptoms, f.latest
FROM (
    SELECT snapshot_id, cluster_id, cause, latest, min(since_snapshot_id) AS since_snapshot_id, max(nights) AS nights,
           count(*) - 1 AS symptoms, {worst_symptom}
    FROM (
        SELECT broken_since.*, CASE consequence {priorities} END AS priority FROM broken_since WHERE severity = 'soft'
    ) AS symptom
    GROUP BY snapshot_id, cluster_id, cause, latest
) f
JOIN snapshot s ON s.snapshot_id = f.snapshot_id AND s.cluster_id = f.cluster_id
