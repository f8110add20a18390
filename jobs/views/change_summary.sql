-- The changes since the previous night, counted by kind and cause, with an example.
-- Example: SELECT cluster_id, kind, cause, changes, example FROM change_summary WHERE latest
SELECT snapshot_id, previous_snapshot_id, cluster_id, kind, cause, count(*) AS changes,
       min(concat(coalesce('broker ' || broker_id, topic || coalesce('-' || partition, ''), group_id, ''), coalesce(' ' || name, ''),
                  CASE WHEN value_before IS NULL AND value_after IS NULL THEN ''
                       ELSE concat(': ', coalesce(value_before, 'none'), ' -> ', coalesce(value_after, 'none')) END)) AS example,
       latest
FROM change
GROUP BY snapshot_id, previous_snapshot_id, cluster_id, kind, cause, latest
