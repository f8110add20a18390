"""Topics and their configs, set on the topic or inherited from the brokers."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import ConfigValue, ListedBroker, RegisteredBroker, TopicLine
from jobs.ingest.partitions import Partitions, TopicRows
from jobs.ingest.resolve.evidence import Evidence, contradiction
from jobs.ingest.resolve.origin import Origin
from jobs.ingest.resolve.rows import table_of
from jobs.schema import TOPIC

_MOST_PARTITIONS = 2**31 - 1
_MIN_ISR = "min.insync.replicas"

# The broker configs from which a topic config is inherited, and the factor of their unit; the first one that is set has effect
# (ServerTopicConfigSynonyms).
_SYNONYMS = {
    "min.insync.replicas": [("min.insync.replicas", 1)],
    "unclean.leader.election.enable": [("unclean.leader.election.enable", 1)],
    "cleanup.policy": [("log.cleanup.policy", 1)],
    "segment.bytes": [("log.segment.bytes", 1)],
    "segment.ms": [("log.roll.ms", 1), ("log.roll.hours", 3_600_000)],
    "retention.bytes": [("log.retention.bytes", 1)],
    "retention.ms": [("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)],
    "local.retention.bytes": [("log.local.retention.bytes", 1)],
    "local.retention.ms": [("log.local.retention.ms", 1)],
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
    """Return every topic that has a topic line or a partition."""
    inherited = _inherited_configs(evidence)
    own_configs: dict[str, dict[str, Origin]] = defaultdict(dict)
    for origin in evidence.origins[ConfigValue].values():
        if origin.fact.kind == "topic":
            own_configs[origin.fact.name][origin.fact.config] = origin
    lines: dict[str, TopicLine] = {fact.topic: fact for fact in evidence.facts(TopicLine)}
    rows_by_topic = partitions.rows_by_topic()
    known = {*lines, *rows_by_topic}
    for topic in own_configs.keys() - known:
        for origin in own_configs[topic].values():
            evidence.reject(origin, f"no dump has topic {topic}")
    rows = []
    for topic in sorted(known):
        line, topic_rows = lines.get(topic), rows_by_topic.get(topic, TopicRows(0, 0, -1))
        count = min(max(line.partitions if line else 0, topic_rows.highest_partition + 1), _MOST_PARTITIONS)
        if topic_rows.end - topic_rows.first < count or (line and line.partitions < count):
            _report_missing_partitions(evidence, partitions, topic, topic_rows, count)
        configs = inherited | _own_configs(topic, line, own_configs[topic], evidence)
        min_isr = configs.get(_MIN_ISR)
        rows.append(
            TopicRow(
                topic=topic,
                topic_id=line.topic_id if line else None,
                partitions=count,
                replication_factor=line.replication_factor if line else len(partitions.ids_of(topic_rows.first, "replicas")),
                min_insync_replicas=None if min_isr is None else int(min_isr),
                configs=sorted(configs.items()),
            )
        )
    return table_of(TOPIC, rows)


def _report_missing_partitions(evidence: Evidence, partitions: Partitions, topic: str, rows: TopicRows, count: int) -> None:
    known = f"{rows.end - rows.first} partitions are known"
    if line := evidence.origins[TopicLine].get((topic,)):
        evidence.report_missing(line, f"{known}, not {line.fact.partitions}")
    else:
        evidence.report_missing(evidence.source_of(topic, int(partitions.partition[rows.first])), f"{known} of at least {count}")


def _inherited_configs(evidence: Evidence) -> dict[str, str]:
    """Return the configs of a topic that sets none: the value of all brokers if each is known and equal, otherwise the cluster's default."""
    brokers = {str(fact.broker_id) for kind in (RegisteredBroker, ListedBroker) for fact in evidence.facts(kind)}
    broker_configs: dict[str, dict[str, str]] = defaultdict(dict)  # by config and broker; an empty broker is the cluster's default
    for fact in evidence.facts(ConfigValue):
        if fact.kind == "broker" and fact.value is not None:
            broker_configs[fact.config][fact.name] = fact.value
    inherited = {}
    for config, synonyms in _SYNONYMS.items():
        for synonym, factor in synonyms:
            value_by_broker = broker_configs.get(synonym, {})
            values = {value_by_broker.get(broker, value_by_broker.get("")) for broker in brokers or {""}}
            if len(values) == 1 and (value := values.pop()) is not None:
                inherited[config] = value if factor == 1 or not value.isdigit() else str(int(value) * factor)
                break
    return inherited


def _own_configs(topic: str, line: TopicLine | None, origins: dict[str, Origin], evidence: Evidence) -> dict[str, str]:
    """Return the configs that are set on a topic; the topic's line wins over kafka-configs."""
    configs = dict(line.configs) if line else {}
    for config, origin in origins.items():
        value = origin.fact.value
        if config in configs and configs[config] != value:
            winner = evidence.origins[TopicLine][(topic,)]
            evidence.reject(origin, contradiction(winner, origin, f"{config} {configs[config]}, not {value}"))
        else:
            configs[config] = value
    return configs
