-- The rows of the view `producer_load`: the stored rows, and the shares of their topic.
SELECT p.*,
       CASE WHEN t.records > 0 THEN p.records / t.records WHEN p.records IS NOT NULL THEN 0e0 END AS record_share,
       CASE WHEN t.size_bytes > 0 THEN p.size_bytes / t.size_bytes WHEN p.size_bytes IS NOT NULL THEN 0e0 END AS byte_share,
       -- observed_skew is known if the growth of every partition is.
       CASE WHEN t.observed_skew IS NOT NULL THEN p.observed_records / t.observed_records END AS observed_record_share
FROM {producer_load} p
JOIN {topic_load} t USING (snapshot_id, attempt_id, cluster_id, topic)
