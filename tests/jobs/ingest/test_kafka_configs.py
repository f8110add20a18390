"""Output of kafka-configs --describe, and the configs that topics get from it."""

from pathlib import Path

import pytest

from jobs.ingest.facts import ConfigValue
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import PARTITION, TOPIC, rejects, resolved, rows

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats"
LINE = "  {0}={1} sensitive=false synonyms={{{2}:{0}={1}}}\n"
OF_TOPIC, OF_BROKER = "Dynamic configs for topic t are:\n", "Dynamic configs for broker {} are:\n"
OF_ALL = "Default configs for brokers in the cluster are:\n"
STATIC, DEFAULT = "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG"


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected) == ("kafka-configs", [])
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None]


def configs(**files: str) -> dict[str, str]:
    topics = TOPIC.format("t", 1, "retention.bytes=7") + PARTITION.format("t", 0, 1, "1,2", "1,2")
    [values] = rows(resolved(topics=topics, **files), "topic", "configs")
    return dict(values)


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_topics_have_the_configs_that_kafka_topics_shows(version: str) -> None:
    folder = RECORDED / version
    topics = (folder / "kafka-topics.txt").read_text()
    configs = {name: (folder / f"kafka-configs-{name}.txt").read_text() for name in ("topics", "brokers")}
    alone, both = resolved(described=topics), resolved(described=topics, **configs)
    assert rejects(both) == []
    assert both["topic"] == alone["topic"]
    without_configs = "".join(line for line in topics.splitlines(keepends=True) if "\tPartition: " in line)
    from_configs = resolved(described=without_configs, **configs)
    assert rows(from_configs, "topic", "min_insync_replicas", "configs") == rows(alone, "topic", "min_insync_replicas", "configs")


def test_only_configs_that_are_set_are_facts() -> None:
    text = OF_TOPIC.replace("Dynamic", "All") + LINE.format("a.b", "1", "DYNAMIC_TOPIC_CONFIG") + LINE.format("c", "x y,z", STATIC)
    text += LINE.format("d", "1", DEFAULT) + "  f= sensitive=false synonyms={}\n"
    text += "  e=null sensitive=true synonyms={STATIC_BROKER_CONFIG:e=null}\n"
    assert facts(text) == [ConfigValue("topic", "t", "a.b", "1"), ConfigValue("topic", "t", "c", "x y,z")]
    metrics = "Dynamic configs for client-metric m are:\n" + LINE.format("a", "1", "DYNAMIC")
    assert facts(metrics) == [ConfigValue("client-metrics", "m", "a", "1")]
    assert facts("Configs for broker '1' are a=2\n") == [ConfigValue("broker", "1", "a", "2")]
    assert facts("Configs for topic 't' are retention.ms=1,cleanup.policy=compact,delete\n") == [
        ConfigValue("topic", "t", "retention.ms", "1"),
        ConfigValue("topic", "t", "cleanup.policy", "compact,delete"),
    ]


def test_topic_inherits_the_clusters_default_unless_it_has_its_own() -> None:
    default = OF_ALL + LINE.format("min.insync.replicas", "2", "D") + LINE.format("log.retention.hours", "2", "D")
    assert configs(a=default) == {"retention.bytes": "7", "min.insync.replicas": "2", "retention.ms": "7200000"}
    own_config = OF_TOPIC + LINE.format("min.insync.replicas", "1", "D")
    assert configs(a=default, b=own_config)["min.insync.replicas"] == "1"
    assert rows(resolved(topics=PARTITION.format("t", 0, 1, "1,2", "1,2"), a=default), "topic", "min_insync_replicas") == [2]


def test_topic_inherits_only_configs_that_all_brokers_have() -> None:
    broker_list = "broker_id,rack\n1,\n2,\n"

    def config_of(broker: int, value: str) -> str:
        return OF_BROKER.format(broker) + LINE.format("min.insync.replicas", value, STATIC)

    assert "min.insync.replicas" not in configs(brokers=broker_list, a=config_of(1, "2"))
    assert "min.insync.replicas" not in configs(brokers=broker_list, a=config_of(1, "2") + config_of(2, "3"))
    assert configs(brokers=broker_list, a=config_of(1, "2") + config_of(2, "2"))["min.insync.replicas"] == "2"
    assert (
        configs(brokers=broker_list, a=config_of(1, "3") + config_of(2, "3") + OF_ALL + LINE.format("min.insync.replicas", "2", "D"))[
            "min.insync.replicas"
        ]
        == "3"
    )


def test_config_that_differs_from_kafka_topics_is_rejected_with_both_values() -> None:
    tables = resolved(
        topics=TOPIC.format("t", 1, "retention.ms=7") + PARTITION.format("t", 0, 1, "1,2", "1,2"),
        a=OF_TOPIC + LINE.format("retention.ms", "8", "D"),
    )
    assert rejects(tables) == [
        ("a", 2, "topics, line 1, differs: retention.ms 7, not 8 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:01)")
    ]


@pytest.mark.parametrize(
    ("text", "rejected"),
    [
        (LINE.format("a", "secret", "D") + OF_ALL, (1, "  a=...", "no header above states whose config it is")),
        (
            OF_ALL + LINE.format("min.insync.replicas", "99999999999", "D"),
            (2, "  min.insync.replicas=...", "min.insync.replicas is not between 0 and 2147483647"),
        ),
        (OF_ALL + "  password=secret\n", (2, "  password=...", "not a config line")),
        ("Dynamic configs for topic a/b are:\n", (1, "Dynamic configs for topic a/b are:", "not a topic name that Kafka allows")),
    ],
)
def test_bad_line_is_rejected_without_its_value(text: str, rejected: tuple[object, ...]) -> None:
    assert [tuple(entry) for entry in read_dump(text.encode()).rejected] == [rejected]
