-- The rules that a published cluster breaks (result: broken), the rules that only waived rows break (waived), and the rules whose input is
-- missing (unknown).
-- Example: SELECT cluster_id, rule, broken_rows, owner FROM broken_rule WHERE latest AND result = 'broken'
SELECT snapshot_id, cluster_id, suite, rule, severity, cause, consequence,
       CASE WHEN success IS NULL THEN 'unknown' WHEN success THEN 'waived' ELSE 'broken' END AS result,
       broken_rows, owner, waived_rows, waived_until, example, sentence, latest
FROM validation WHERE success IS NULL OR NOT success OR waived_until IS NOT NULL
