-- The rules that a published cluster breaks, and the rules whose input is missing (result: unknown).
-- Example: SELECT cluster_id, rule, broken_rows FROM broken_rule WHERE latest
SELECT snapshot_id, cluster_id, suite, rule, severity, cause, consequence,
       CASE WHEN success IS NULL THEN 'unknown' ELSE 'broken' END AS result, broken_rows, example, sentence, latest
FROM validation WHERE success IS NULL OR NOT success
