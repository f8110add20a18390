-- Changes of partitions.
WITH pair AS (
    SELECT *, replicas IS NOT NULL AND previous_replicas IS NOT NULL AND coalesce(topic_recreated, false) AS recreated
    FROM {differing_partition}
), same AS (
    SELECT *, array_sort(replicas) <> array_sort(previous_replicas) AS reassigned,
           array_except(previous_isr, isr) AS left_isr, array_except(isr, previous_isr) AS joined_isr
    FROM pair
    WHERE replicas IS NOT NULL AND previous_replicas IS NOT NULL AND NOT recreated
), involved AS (
    SELECT *, array_intersect(left_isr, lost) AS left_by_loss, array_intersect(left_isr, failed) AS left_by_failure,
           array_intersect(joined_isr, returned) AS joined_by_return
    FROM same
), explained AS (
    SELECT *,
           coalesce(
               {LEFT_BY_LOSS}, CASE WHEN size(array_except(left_isr, replicas)) > 0 THEN {REASSIGNED} END, {LEFT_BY_FAILURE},
               {JOINED_BY_RETURN}, CASE WHEN size(array_except(joined_isr, previous_replicas)) > 0 THEN {REASSIGNED} END
           ) AS isr_cause,
           CASE WHEN array_contains(lost, previous_leader) THEN 'broker ' || previous_leader || ' was lost'
                WHEN NOT array_contains(replicas, previous_leader) THEN {REASSIGNED}
                WHEN array_contains(failed, previous_leader) THEN 'broker ' || previous_leader || ' has a log dir that failed'
                WHEN array_contains(returned, leader) THEN 'broker ' || leader || ' returned'
                WHEN previous_leader IS NOT NULL AND leader = get(replicas, 0) THEN 'the preferred leader was elected' END AS leader_cause,
           {REASSIGNMENT_BEFORE} AS reassignment_before, {REASSIGNMENT_AFTER} AS reassignment_after
    FROM involved
), change AS (
    SELECT cluster_id, topic, partition, 'partition added' AS kind,
           CAST(NULL AS STRING) AS value_before, array_join(replicas, ',') AS value_after,
           CASE WHEN topic_created OR recreated THEN 'the topic was created' ELSE 'partitions were added to the topic' END AS cause
    FROM pair WHERE previous_replicas IS NULL OR recreated
    UNION ALL
    SELECT cluster_id, topic, partition, 'partition removed', array_join(previous_replicas, ','), NULL,
           CASE WHEN topic_deleted OR recreated THEN 'the topic was deleted' END
    FROM pair WHERE replicas IS NULL OR recreated
    UNION ALL
    SELECT cluster_id, topic, partition, CASE WHEN reassigned THEN 'replicas reassigned' ELSE 'replicas reordered' END,
           array_join(previous_replicas, ','), array_join(replicas, ','), NULL
    FROM same WHERE replicas <> previous_replicas
    UNION ALL
    SELECT cluster_id, topic, partition, 'reassignment changed', reassignment_before, reassignment_after, NULL
    FROM explained WHERE reassignment_before <> reassignment_after
    UNION ALL
    SELECT cluster_id, topic, partition,
           CASE WHEN size(joined_isr) = 0 THEN 'ISR shrank' WHEN size(left_isr) = 0 THEN 'ISR grew' ELSE 'ISR exchanged' END,
           array_join(previous_isr, ','), array_join(isr, ','), isr_cause
    FROM explained WHERE size(left_isr) + size(joined_isr) > 0
    UNION ALL
    SELECT cluster_id, topic, partition, 'ELR changed', array_join(previous_elr, ','), array_join(elr, ','),
           CASE WHEN isr_cause IS NOT NULL THEN isr_cause WHEN reassigned THEN {REASSIGNED}
                WHEN size(left_isr) + size(joined_isr) > 0 THEN 'its ISR changed' END
    FROM explained WHERE elr <> previous_elr
    UNION ALL
    SELECT cluster_id, topic, partition,
           CASE WHEN leader IS NULL THEN 'leader lost' WHEN previous_leader IS NULL THEN 'leader elected' ELSE 'leader moved' END,
           CAST(previous_leader AS STRING), CAST(leader AS STRING), leader_cause
    FROM explained WHERE leader IS DISTINCT FROM previous_leader
    UNION ALL
    SELECT cluster_id, topic, partition, 'recovery changed',
           CAST(previous_leader_recovering AS STRING), CAST(leader_recovering AS STRING), NULL
    FROM same WHERE leader_recovering <> previous_leader_recovering
)
SELECT cluster_id, topic, partition, kind, nullif(value_before, '') AS value_before, nullif(value_after, '') AS value_after, cause
FROM change
