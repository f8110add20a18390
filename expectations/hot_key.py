"""Rules of hot_key: the listed keys are the hottest, and no key has too many records."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "hottest_keys",
            "The listed keys of a topic are the ten with the most records, or all keys if there are fewer.",
            mismatches(
                "cluster_id, topic",
                stated="""
                    SELECT cluster_id, topic, struct_pack(keys := count(*), records := list(records ORDER BY records DESC)) AS stated
                    FROM hot_key GROUP BY ALL
                """,
                computed="""
                    SELECT cluster_id, topic, struct_pack(keys := least(count(*), 10), records := max(records, 10)) AS computed
                    FROM key_sample
                    SEMI JOIN (SELECT cluster_id, topic FROM topic_load WHERE records IS NOT NULL) USING (cluster_id, topic)
                    WHERE key IS NOT NULL AND partition IS NULL
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "no_hot_key",
            f"No key has more than {limits.hot_key_share_most} of its topic's records.",
            f"""
                SELECT cluster_id, topic, key_text, hex(key) AS key_hex, partition, record_share FROM hot_key
                WHERE record_share > {limits.hot_key_share_most}
            """,
            requires="SELECT cluster_id FROM key_sample",
            measured="record_share",
            limit=limits.hot_key_share_most,
            formula="share of the records with one key <= limit",
            change=f"'split the key: ' || round(100 * (record_share - {limits.hot_key_share_most}), 1) || ' % of the records exceed the limit'",
        ),
    ]
