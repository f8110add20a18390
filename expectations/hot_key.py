"""hot_key: the keys told are the hottest, and none is too hot for any number of partitions."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import KEY_SAMPLE, PRODUCER_LOAD

READS = (KEY_SAMPLE, PRODUCER_LOAD)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "hottest_keys",
            "The keys told of a topic are the ten with the most records, or all if there are fewer.",
            equal(
                "cluster_id, topic",
                said="""
                    SELECT cluster_id, topic, struct(count(*) AS keys, sort_array(collect_list(records), false) AS records) AS said
                    FROM {batch} GROUP BY ALL
                """,
                found="""
                    SELECT cluster_id, topic, struct(
                        least(count(*), 10) AS keys,
                        slice(sort_array(collect_list(records) FILTER (WHERE records >= coldest), false), 1, 10) AS records
                    ) AS found
                    FROM key_sample
                    SEMI JOIN (SELECT cluster_id, topic FROM producer_load WHERE records IS NOT NULL) USING (cluster_id, topic)
                    LEFT JOIN (SELECT cluster_id, topic, min(records) AS coldest FROM {batch} GROUP BY ALL) USING (cluster_id, topic)
                    WHERE key IS NOT NULL AND partition IS NULL
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "no_hot_key",
            f"No key has more than {limits.hot_key_share_most} of its topic's records.",
            f"""
                SELECT cluster_id, topic, key_text, hex(key) AS key_hex, partition, record_share FROM {{batch}}
                WHERE record_share > {limits.hot_key_share_most}
            """,
            told="SELECT cluster_id FROM key_sample",
            measured="record_share",
            limit=limits.hot_key_share_most,
            formula="share of the records under one key <= limit",
            change=f"concat('split the key: ', round(100 * (record_share - {limits.hot_key_share_most}), 1), ' % of the records are over')",
        ),
    ]
