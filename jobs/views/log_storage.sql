-- The rows of the view `log_storage`: the stored rows, and the sizes of their indexes.
SELECT *, (CAST(offset_index_bytes / 8 AS BIGINT) + segments - 1) * 12 AS time_index_bytes
FROM (SELECT *, CAST(floor(greatest(size_bytes - 1, 0) / (index_interval_bytes + 1)) AS BIGINT) * 8 AS offset_index_bytes
      FROM {log_storage}) s
