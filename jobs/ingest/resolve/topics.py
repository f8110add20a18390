"""Topics and their configs, own or inherited from the brokers."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import BrokerListed, BrokerSeen, ConfigSet, TopicLine
from jobs.ingest.partitions import LISTS, Partitions
from jobs.ingest.resolve.evidence import Evidence, contradiction
from jobs.ingest.resolve.origin import Origin
from jobs.ingest.resolve.rows import table_of
from jobs.schema import TOPIC

_MOST_PARTITIONS = 2**31 - 1
_MIN_ISR = "min.insync.replicas"

# The brokers' names for a topic's config, of which the first that is set has effect, and the factor of its unit (ServerTopicConfigSynonyms).
_SYNONYMS = {
    "min.insync.replicas": [("min.insync.replicas", 1)],
    "unclean.leader.election.enable": [("unclean.leader.election.enable", 1)],
    "cleanup.policy": [("log.cleanup.policy", 1)],
    "segment.bytes": [("log.segment.bytes", 1)],
    "segment.ms": [("log.roll.ms", 1), ("log.roll.hours", 3_600_000)],
    "retention.bytes": [("log.retention.bytes", 1)],
    "retention.ms": [("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)],
    "index.interval.bytes": [("log.index.interval.bytes", 1)],
    "max.message.bytes": [("message.max.bytes", 1)],
}


class TopicRow(NamedTuple):
    """A row of `topic`."""

    topic: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    min_insync_replicas: int | None
    configs: list[tuple[str, str]]


def topic_table(evidence: Evidence, partitions: Partitions) -> pa.Table:
    """Return every topic that has a line of its own or a partition."""
    inherited = _inherited_configs(evidence)
    own: dict[str, dict[str, Origin]] = defaultdict(dict)
    for origin in evidence.standing[ConfigSet].values():
        if origin.fact.kind == "topic":
            own[origin.fact.name][origin.fact.config] = origin
    lines: dict[str, TopicLine] = {fact.topic: fact for fact in evidence.of(TopicLine)}
    by_topic = partitions.by_topic()
    rows = []
    for topic in sorted({*lines, *by_topic}):
        line, (first, end, highest) = lines.get(topic), by_topic.get(topic, (0, 0, -1))
        count = min(max(line.partitions if line else 0, highest + 1), _MOST_PARTITIONS)
        if end - first < count or (line and line.partitions < count):
            _report_missing_partitions(evidence, partitions, topic, first, f"{end - first} partitions are known", line, count)
        configs = inherited | _own_configs(topic, line, own[topic], evidence)
        min_isr = configs.get(_MIN_ISR)
        rows.append(
            TopicRow(
                topic=topic,
                topic_id=line.topic_id if line else None,
                partitions=count,
                replication_factor=line.replication_factor if line else _replicas(partitions, first),
                min_insync_replicas=None if min_isr is None else int(min_isr),
                configs=sorted(configs.items()),
            )
        )
    return table_of(TOPIC, rows)


def _report_missing_partitions(
    evidence: Evidence, partitions: Partitions, topic: str, first: int, known: str, line: TopicLine | None, count: int
) -> None:
    if line:
        evidence.report_missing(evidence.standing[TopicLine][(topic,)], f"{known}, not {line.partitions}")
    else:
        evidence.report_missing(evidence.source_of(topic, int(partitions.partition[first])), f"{known} of at least {count}")


def _replicas(partitions: Partitions, row: int) -> int:
    number = LISTS.index("replicas")
    return int(partitions.at[row, number + 1] - partitions.at[row, number])


def _inherited_configs(evidence: Evidence) -> dict[str, str]:
    """Return the configs of a topic without own ones: what all brokers have where each is known, otherwise the cluster's default."""
    brokers = {str(fact.broker_id) for kind in (BrokerSeen, BrokerListed) for fact in evidence.of(kind)}
    by_config: dict[str, dict[str, str]] = defaultdict(dict)
    for fact in evidence.of(ConfigSet):
        if fact.kind == "broker" and fact.value is not None:
            by_config[fact.config][fact.name] = fact.value
    inherited = {}
    for config, synonyms in _SYNONYMS.items():
        for synonym, factor in synonyms:
            by_broker = by_config.get(synonym, {})
            values = {by_broker.get(broker, by_broker.get("")) for broker in brokers or {""}}
            if len(values) == 1 and (value := values.pop()) is not None:
                inherited[config] = value if factor == 1 or not value.isdigit() else str(int(value) * factor)
                break
    return inherited


def _own_configs(topic: str, line: TopicLine | None, own: dict[str, Origin], evidence: Evidence) -> dict[str, str]:
    """Return the configs that are set on a topic; where kafka-configs contradicts the topic's line, the line stands."""
    configs = dict(line.configs) if line else {}
    for config, origin in own.items():
        value = origin.fact.value
        if config in configs and configs[config] != value:
            stands = evidence.standing[TopicLine][(topic,)]
            evidence.reject(origin, contradiction(stands, origin, f"{config} {configs[config]}, not {value}"))
        else:
            configs[config] = value
    return configs
