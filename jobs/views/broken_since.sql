-- The rules that rows of a cluster break in a night, waived or not, with the first night of the series in which it broke them, and the number
-- of such nights. A night in which the rule is unknown neither ends the series nor counts.
-- Example: SELECT cluster_id, rule, since_snapshot_id FROM broken_since WHERE latest
SELECT snapshot_id, cluster_id, suite, rule, severity, cause, consequence, problem, smallest_change, since_snapshot_id, nights, broken_rows,
       owner, waived_rows, waived_until, example, sentence, latest
FROM (
    SELECT result.*,
           min(CASE WHEN is_broken THEN snapshot_id END) OVER (PARTITION BY cluster_id, suite, rule, last_success) AS since_snapshot_id,
           sum(CASE WHEN is_broken THEN 1 ELSE 0 END)
           OVER (PARTITION BY cluster_id, suite, rule, last_success ORDER BY snapshot_id ROWS UNBOUNDED PRECEDING) AS nights
    FROM (
        SELECT v.*, coalesce(max(CASE WHEN NOT is_broken THEN snapshot_id END)
                   OVER (PARTITION BY cluster_id, suite, rule ORDER BY snapshot_id ROWS UNBOUNDED PRECEDING), '') AS last_success
        FROM (SELECT *, NOT success OR waived_until IS NOT NULL AS is_broken FROM validation) v
    ) AS result
) AS counted
WHERE is_broken
