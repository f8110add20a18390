-- What is wrong with a cluster: a row per cause. The rules that the cause breaks are its symptoms; the row describes the worst of them, and
-- `symptoms` counts the others (view `broken_rule`). `priority` is 1 for data loss, 2 for unavailable, 3 for writes refused, 4 for less redundancy,
-- 5 for balance and 6 for hygiene. `since_snapshot_id` is the first night of the longest series of a symptom; `is_new`: the previous night had
-- none. `smallest_change` repairs the row in `example`. `owner` has the owners of the rows of all symptoms, separated by a comma and a space.
-- If `waived_until` is not null, every symptom is waived up to this day; otherwise the waived symptoms of the cause do not count.
-- Example: SELECT cluster_id, consequence, problem, owner, smallest_change FROM finding WHERE latest AND waived_until IS NULL ORDER BY priority, broken_rows DESC
SELECT f.snapshot_id, f.cluster_id, f.cause, f.priority, f.consequence, f.problem, f.broken_rows, f.owner, f.waived_rows, f.waived_until,
       f.since_snapshot_id, f.nights, s.previous_snapshot_id IS NOT NULL AND f.since_snapshot_id = f.snapshot_id AS is_new,
       f.smallest_change, f.example, f.suite, f.rule, f.symptoms, f.latest
FROM (
    SELECT snapshot_id, cluster_id, cause, latest, min(since_snapshot_id) AS since_snapshot_id, max(nights) AS nights,
           count(*) - 1 AS symptoms, min(waived_until) AS waived_until, {owners} AS owner, {worst_symptom}
    FROM (
        SELECT broken_since.*, CASE consequence {priorities} END AS priority,
               bool_and(waived_until IS NOT NULL) OVER (PARTITION BY snapshot_id, cluster_id, cause) AS is_waived
        FROM broken_since WHERE severity = 'soft'
    ) AS symptom
    WHERE is_waived OR waived_until IS NULL
    GROUP BY snapshot_id, cluster_id, cause, latest
) f
JOIN snapshot s ON s.snapshot_id = f.snapshot_id AND s.cluster_id = f.cluster_id
