"""Rules of change: every difference between two nights has a row, every row is a difference, and no change is harmful."""

from __future__ import annotations

from collections.abc import Mapping

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, soft

_RECREATED_TOPICS = """
    SELECT cluster_id, topic FROM topic AS now JOIN previous_topic AS before USING (cluster_id, topic) WHERE now.topic_id <> before.topic_id
"""
_SAME_TOPIC_ID = "NOT coalesce(now.topic_id <> before.topic_id, false)"


def rules(limits: Limits) -> list[Rule]:
    return [
        _recorded(
            "broker_changes_recorded",
            "Every broker that exists or is live in only one of the two nights has a row for it, and no other broker has one.",
            "broker",
            "broker_id",
            {
                "broker added": "before.present IS NULL",
                "broker removed": "now.present IS NULL",
                "broker lost": "before.live AND NOT coalesce(now.live, false)",
                "broker returned": "now.live AND NOT before.live",
            },
        ),
        _recorded(
            "topic_changes_recorded",
            "Every topic that exists in only one of the two nights, or with another id or size, has a row for it, and no other topic has one.",
            "topic",
            "topic",
            {
                "topic created": "before.present IS NULL OR now.topic_id <> before.topic_id",
                "topic deleted": "now.present IS NULL OR now.topic_id <> before.topic_id",
                "partitions %": f"now.partitions <> before.partitions AND {_SAME_TOPIC_ID}",
                "replication factor %": f"now.replication_factor <> before.replication_factor AND {_SAME_TOPIC_ID}",
            },
            both_nights="topic",
        ),
        _recorded(
            "partition_changes_recorded",
            "Every partition that exists in only one of the two nights, or with another leader, ISR or replicas, has a row for it, unless its topic was recreated.",
            "partition",
            "topic, partition",
            {
                "partition added": "before.present IS NULL",
                "partition removed": "now.present IS NULL",
                "replicas %": "now.replicas <> before.replicas",
                "ISR %": "list_sort(now.isr) <> list_sort(before.isr)",
                "leader %": "now.present AND before.present AND now.leader IS DISTINCT FROM before.leader",
            },
            both_nights="topic",
            without=f"ANTI JOIN ({_RECREATED_TOPICS}) AS recreated USING (cluster_id, topic)",
        ),
        _recorded(
            "group_changes_recorded",
            "Every group that exists in only one of the two nights has a row for it, and no other group has one.",
            "consumer_group",
            "group_id",
            {"group appeared": "before.present IS NULL", "group gone": "now.present IS NULL"},
            both_nights="consumer_group",
        ),
        hard(
            "causes_recorded",
            "Every lost broker that is the cause of a change has a row of its own.",
            """
                SELECT cluster_id, kind, topic, partition, group_id, name, cause
                FROM (SELECT *, unnest(regexp_extract_all(cause, '[0-9]+')) AS lost_broker
                      FROM change WHERE cause LIKE 'broker% lost') AS explained
                ANTI JOIN (SELECT cluster_id, CAST(broker_id AS VARCHAR) AS lost_broker FROM change WHERE kind = 'broker lost') AS lost
                    USING (cluster_id, lost_broker)
            """,
        ),
        _no_change("no_broker_lost", "No broker was lost since the previous night.", "kind = 'broker lost'"),
        _no_change("racks_unchanged", "Every broker is in the same rack as in the previous night.", "kind = 'rack changed'"),
        _no_change("no_topic_deleted", "No topic was deleted or recreated since the previous night.", "kind = 'topic deleted'"),
        _no_change(
            "durability_not_lowered",
            "No topic has a lower replication factor or min.insync.replicas than in the previous night, or allows unclean elections since then.",
            """
                (kind = 'replication factor changed' OR (kind = 'config changed' AND name = 'min.insync.replicas'))
                    AND coalesce(CAST(value_after AS INT), 1) < coalesce(CAST(value_before AS INT), 1)
                OR kind = 'config changed' AND name = 'unclean.leader.election.enable' AND lower(value_after) = 'true'
            """,
        ),
        _no_change(
            "isr_shrinks_explained",
            "No replica left an ISR, except through the loss of a broker or log dir, or a reassignment.",
            "kind IN ('ISR shrank', 'ISR exchanged') AND cause IS NULL",
        ),
        _no_change("no_group_missing", "Every consumer group of the previous night still exists.", "kind = 'group gone'"),
        _no_change("no_source_missing", "Every kind of dump of the previous night was read tonight.", "kind = 'source gone'"),
    ]


def _no_change(name: str, sentence: str, condition: str) -> Rule:
    columns = "cluster_id, kind, broker_id, topic, partition, group_id, name, value_before, value_after"
    return soft(
        name,
        sentence,
        f"SELECT {columns} FROM change WHERE {condition}",
        measured="1",
        limit=0,
        formula="such changes since the previous night = 0",
        change="'revert it if it was not intended: ' || kind",
        requires="SELECT cluster_id FROM previous_cluster",
    )


def _recorded(
    name: str, sentence: str, table: str, key: str, kinds: Mapping[str, str], *, both_nights: str | None = None, without: str = ""
) -> Rule:
    """Return the rule that `change` has a row of each of these kinds for the keys that fulfil its condition, and no other rows of them.

    If only one night has rows of the table `both_nights`, the rule applies to clusters with the same sources in both nights alone. Keys
    that the join `without` excludes are not compared.
    """
    counts = [f"changes_{number}" for number in range(len(kinds))]
    stated = ", ".join(f"{count} := count_if(kind LIKE '{kind}')" for count, kind in zip(counts, kinds, strict=True))
    differences = ", ".join(
        f"CAST(if({condition}, 1, 0) AS BIGINT) AS {count}" for count, condition in zip(counts, kinds.values(), strict=True)
    )
    any_kind = " OR ".join(f"kind LIKE '{kind}'" for kind in kinds)
    clusters = "SELECT cluster_id FROM cluster AS now JOIN previous_cluster AS before USING (cluster_id)"
    if both_nights:
        known = f"SELECT DISTINCT cluster_id, true AS known FROM {both_nights} SEMI JOIN previous_{both_nights} USING (cluster_id)"
        clusters += f" LEFT JOIN ({known}) AS known_twice USING (cluster_id) WHERE known OR now.sources = before.sources"
    return hard(
        name,
        sentence,
        mismatches(
            f"cluster_id, {key}",
            stated=f"SELECT cluster_id, {key}, struct_pack({stated}) AS stated FROM change {without} WHERE {any_kind} GROUP BY cluster_id, {key}",
            computed=f"""
                SELECT cluster_id, {key}, struct_pack({", ".join(f"{count} := {count}" for count in counts)}) AS computed
                FROM (SELECT cluster_id, {key}, {differences}
                      FROM (SELECT *, true AS present FROM {table}) AS now
                      FULL JOIN (SELECT *, true AS present FROM previous_{table}) AS before USING (cluster_id, {key})) AS compared
                SEMI JOIN ({clusters}) AS clusters USING (cluster_id) {without}
                WHERE {" + ".join(counts)} > 0
            """,
        ),
    )
