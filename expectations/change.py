"""change: every difference of two nights has its row, every row its difference; and nothing went that an operator would miss."""

from __future__ import annotations

from collections.abc import Mapping

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import BROKER, CLUSTER, CONSUMER_GROUP, PARTITION, TOPIC

READS = (CLUSTER, BROKER, TOPIC, PARTITION, CONSUMER_GROUP)
READS_PREVIOUS = READS

_COMPARED = "SELECT cluster_id FROM previous_cluster"
_MADE_ANEW = """
    SELECT cluster_id, topic FROM topic AS now JOIN previous_topic AS was USING (cluster_id, topic) WHERE now.topic_id <> was.topic_id
"""
_SAME = "NOT coalesce(now.topic_id <> was.topic_id, false)"


def expectations(limits: Limits) -> list[Expectation]:
    return [
        _accounted_for(
            "brokers_as_changed",
            "A broker that one night only knows, or finds live, has its rows, and no other has.",
            BROKER.name,
            "broker_id",
            {
                "broker added": "was.here IS NULL",
                "broker removed": "now.here IS NULL",
                "broker lost": "was.live AND NOT coalesce(now.live, false)",
                "broker returned": "now.live AND NOT was.live",
            },
        ),
        _accounted_for(
            "topics_as_changed",
            "A topic of one night only, of another id, or of another size has its rows, and no other has.",
            TOPIC.name,
            "topic",
            {
                "topic created": "was.here IS NULL OR now.topic_id <> was.topic_id",
                "topic deleted": "now.here IS NULL OR now.topic_id <> was.topic_id",
                "partitions %": f"now.partitions <> was.partitions AND {_SAME}",
                "replication factor %": f"now.replication_factor <> was.replication_factor AND {_SAME}",
            },
            told=TOPIC.name,
        ),
        _accounted_for(
            "partitions_as_changed",
            "Unless its topic was made anew, a partition of one night only, or with another leader, ISR or replicas, has its rows.",
            PARTITION.name,
            "topic, partition",
            {
                "partition added": "was.here IS NULL",
                "partition removed": "now.here IS NULL",
                "replicas %": "now.replicas <> was.replicas",
                "ISR %": "array_sort(now.isr) <> array_sort(was.isr)",
                "leader %": "now.here AND was.here AND now.leader IS DISTINCT FROM was.leader",
            },
            told=TOPIC.name,
            but=f"ANTI JOIN ({_MADE_ANEW}) AS anew USING (cluster_id, topic)",
        ),
        _accounted_for(
            "groups_as_changed",
            "A group of one night only has its row, and no other has.",
            CONSUMER_GROUP.name,
            "group_id",
            {"group appeared": "was.here IS NULL", "group gone": "now.here IS NULL"},
            told=CONSUMER_GROUP.name,
        ),
        hard(
            "causes_stand",
            "A lost broker that explains a change has its row.",
            """
                SELECT cluster_id, kind, topic, partition, group_id, name, cause
                FROM (SELECT *, explode(regexp_extract_all(cause, '[0-9]+', 0)) AS lost
                      FROM {batch} WHERE cause LIKE 'broker% lost') AS caused
                ANTI JOIN (SELECT cluster_id, CAST(broker_id AS STRING) AS lost FROM {batch} WHERE kind = 'broker lost') AS broker
                    USING (cluster_id, lost)
            """,
        ),
        _none("no_broker_lost", "No broker was lost since the night before.", "kind = 'broker lost'"),
        _none("racks_as_before", "Every broker is on the rack of the night before.", "kind = 'rack changed'"),
        _none("no_topic_deleted", "No topic was deleted, or made anew under its name, since the night before.", "kind = 'topic deleted'"),
        _none(
            "as_durable_as_before",
            "No topic has a lower replication factor or min.insync.replicas, or allows unclean elections, other than the night before.",
            """
                (kind = 'replication factor changed' OR (kind = 'config changed' AND name = 'min.insync.replicas'))
                    AND coalesce(CAST(value_after AS INT), 1) < coalesce(CAST(value_before AS INT), 1)
                OR kind = 'config changed' AND name = 'unclean.leader.election.enable' AND lower(value_after) = 'true'
            """,
        ),
        _none(
            "isr_shrank_for_a_reason",
            "No replica fell out of an ISR but by the loss of a broker or log dir, or by a reassignment.",
            "kind IN ('ISR shrank', 'ISR exchanged') AND cause IS NULL",
        ),
        _none("no_group_gone", "Every group of the night before is still there.", "kind = 'group gone'"),
        _none("sources_as_before", "Every kind of dump of the night before is there tonight.", "kind = 'source gone'"),
    ]


def _none(rule: str, sentence: str, condition: str) -> Expectation:
    columns = "cluster_id, kind, broker_id, topic, partition, group_id, name, value_before, value_after"
    found = f"SELECT {columns} FROM {{batch}} WHERE {condition}"
    return soft(
        rule,
        sentence,
        found,
        measured="1",
        limit=0,
        formula="such changes since the night before = 0",
        change="concat('undo it, if nobody meant it: ', kind)",
        told=_COMPARED,
    )


def _accounted_for(
    rule: str, sentence: str, table: str, key: str, kinds: Mapping[str, str], *, told: str | None = None, but: str = ""
) -> Expectation:
    """What the two nights' rows of a table say by these conditions, and `change` by these kinds, is the same for every key.

    Where only one night has any row of `told`, the sources must be the same for that to be a change.
    """
    names = [f"of_{number}" for number in range(len(kinds))]
    counted = ", ".join(f"count_if(kind LIKE '{kind}') AS {name}" for name, kind in zip(names, kinds, strict=True))
    differing = ", ".join(f"CAST(if({condition}, 1, 0) AS BIGINT) AS {name}" for name, condition in zip(names, kinds.values(), strict=True))
    these = " OR ".join(f"kind LIKE '{kind}'" for kind in kinds)
    clusters = "SELECT cluster_id FROM cluster AS now JOIN previous_cluster AS was USING (cluster_id)"
    if told:
        both = f"SELECT DISTINCT cluster_id FROM {told} SEMI JOIN previous_{told} USING (cluster_id)"
        some = f"SELECT cluster_id, true AS told FROM ({both}) AS both_nights"
        clusters += f" LEFT JOIN ({some}) AS some USING (cluster_id) WHERE told OR now.sources = was.sources"
    return hard(
        rule,
        sentence,
        equal(
            f"cluster_id, {key}",
            said=f"SELECT cluster_id, {key}, struct({counted}) AS said FROM {{batch}} {but} WHERE {these} GROUP BY cluster_id, {key}",
            found=f"""
                SELECT cluster_id, {key}, struct({", ".join(names)}) AS found
                FROM (SELECT cluster_id, {key}, {differing}
                      FROM (SELECT *, true AS here FROM {table}) AS now
                      FULL JOIN (SELECT *, true AS here FROM previous_{table}) AS was USING (cluster_id, {key})) AS compared
                SEMI JOIN ({clusters}) AS clusters USING (cluster_id) {but}
                WHERE {" + ".join(names)} > 0
            """,
        ),
    )
