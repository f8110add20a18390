-- Changes of groups and their members. A client that restarts leaves as one member and joins as another, from the same host.
WITH pair AS (
    SELECT cluster_id, group_id, n.snapshot_id IS NULL AS gone, p.snapshot_id IS NULL AS appeared,
           n.protocol, n.assignor, n.state, n.coordinator_id, n.members,
           p.protocol AS previous_protocol, p.assignor AS previous_assignor, p.state AS previous_state,
           p.coordinator_id AS previous_coordinator_id, p.members AS previous_members, groups_comparable, lost, returned
    FROM {consumer_group} n
    FULL JOIN {previous_consumer_group} p USING (cluster_id, group_id)
    JOIN (SELECT cluster_id, groups_comparable, lost, returned FROM {compared_cluster}) c USING (cluster_id)
), value AS (
    SELECT cluster_id, group_id, 'protocol' AS name, previous_protocol AS value_before, protocol AS value_after, CAST(NULL AS STRING) AS cause
    FROM pair
    UNION ALL
    SELECT cluster_id, group_id, 'assignor', previous_assignor, assignor, NULL FROM pair
    UNION ALL
    SELECT cluster_id, group_id, 'state', previous_state, state, NULL FROM pair
    UNION ALL
    SELECT cluster_id, group_id, 'members', CAST(previous_members AS STRING), CAST(members AS STRING), NULL FROM pair
    UNION ALL
    SELECT cluster_id, group_id, 'coordinator_id', CAST(previous_coordinator_id AS STRING), CAST(coordinator_id AS STRING),
           CASE WHEN array_contains(lost, previous_coordinator_id) THEN 'broker ' || previous_coordinator_id || ' was lost'
                WHEN array_contains(returned, coordinator_id) THEN 'broker ' || coordinator_id || ' returned' END
    FROM pair
), member AS (
    SELECT cluster_id, group_id, member_id, p.snapshot_id IS NULL AS joined,
           concat_ws(' ', coalesce(n.client_id, p.client_id), coalesce(n.host, p.host)) AS client,
           coalesce(n.group_instance_id, p.group_instance_id) AS group_instance_id
    FROM {group_member} n
    FULL JOIN {previous_group_member} p USING (cluster_id, group_id, member_id)
    JOIN (SELECT cluster_id FROM {compared_cluster} WHERE members_comparable) c USING (cluster_id)
    WHERE n.snapshot_id IS NULL OR p.snapshot_id IS NULL
), moved AS (
    SELECT *, bool_or(joined) OVER same_client AND NOT bool_and(joined) OVER same_client AS restarted
    FROM member
    WINDOW same_client AS (PARTITION BY cluster_id, group_id, coalesce(group_instance_id, client))
)
SELECT cluster_id, group_id, CASE WHEN appeared THEN 'group appeared' ELSE 'group gone' END AS kind, CAST(NULL AS STRING) AS name,
       previous_members || ' members' AS value_before, members || ' members' AS value_after, CAST(NULL AS STRING) AS cause
FROM pair WHERE groups_comparable AND (appeared OR gone)
UNION ALL
SELECT cluster_id, group_id, 'group changed', name, value_before, value_after, cause FROM value WHERE value_before <> value_after
UNION ALL
SELECT cluster_id, group_id, CASE WHEN joined THEN 'member joined' ELSE 'member left' END, member_id,
       CASE WHEN NOT joined THEN client END, CASE WHEN joined THEN client END,
       CASE WHEN restarted THEN 'the client restarted' WHEN joined AND appeared THEN 'the group appeared'
            WHEN NOT joined AND gone THEN 'the group is gone' END
FROM moved
LEFT JOIN (SELECT cluster_id, group_id, appeared, gone FROM pair) g USING (cluster_id, group_id)
