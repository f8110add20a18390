"""kafka-configs --describe: configs of topics, of brokers, and the cluster's default for all brokers.

Printed by kafka.admin.ConfigCommand.

    Dynamic configs for topic ledger are:                      `All configs for` with --all
      min.insync.replicas=3 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=3, DEFAULT_CONFIG:min.insync.replicas=1}
    Dynamic configs for broker 3 are:
      log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2, ...}
    Default configs for brokers in the cluster are:
      log.retention.ms=86400000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=86400000}
    Configs for topic 'orders' are retention.ms=1000,cleanup.policy=compact,delete                                  up to 2.x

The first synonym is the one in effect. Kafka's own defaults, sensitive configs and configs of other entities (users, clients, groups) are
parsed but not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, config_value, identifier, plain_text, topic_name
from jobs.ingest.facts import ConfigValue
from jobs.ingest.formats.kafka_topics import configs_of
from jobs.ingest.precedence import Precedence

NAME = "kafka-configs"
PRECEDENCE = Precedence.KAFKA_TOOL

_HEADER = re.compile(r"(?:Dynamic|All) configs for ([a-z-]{1,30}) (.{1,300}) are:|Default configs for ([a-z-]{1,30}) in the cluster are:")
_CONFIG = re.compile(r"  ([A-Za-z0-9._-]{1,300})=(.*) sensitive=(true|false) synonyms=\{(.*)\}")
_FLAT = re.compile(r"Configs for ([a-z-]{1,30}) '([^']{1,300})' are ?(.*)")
_KNOWN_BY = re.compile(rf"^(?:{_HEADER.pattern}|{_FLAT.pattern})[ \t\r]*$", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a header of an entity."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each config that is set."""
    entity: tuple[str, str] | None = None
    for number, line in dump.lines():
        try:
            if match := _HEADER.fullmatch(line.rstrip()):
                entity = None
                entity = _entity(match[1], match[2]) if match[1] else (match[3].removesuffix("s"), "")
                yield Parsed(number, line, None)
            elif match := _FLAT.fullmatch(line.rstrip()):
                kind, name = _entity(match[1].removesuffix("s"), match[2])
                configs = configs_of(match[3]) if kind == "topic" else {}
                yield Parsed(number, line, None)
                for config, value in configs.items():
                    yield Parsed(number, line, ConfigValue(kind, name, config, value), entries=0)
            elif entity is None:
                raise Unreadable("no header above states whose config it is")
            elif match := _CONFIG.fullmatch(line.rstrip()):
                yield Parsed(number, line, _config(entity, *match.groups()))
            else:
                raise Unreadable("not a config line")
        except Unreadable as e:
            yield Rejected(number, re.sub("=.*", "=...", line, count=1), str(e))  # the value may be a password


def _entity(kind: str, name: str) -> tuple[str, str]:
    if kind == "topic":
        return kind, topic_name(name)
    if kind == "broker":
        return kind, str(identifier(name, "a broker's id"))
    return kind, plain_text(name, "the name")


def _config(entity: tuple[str, str], config: str, value: str, sensitive: str, synonyms: str) -> ConfigValue | None:
    kind, name = entity
    if kind not in ("topic", "broker") or sensitive == "true" or not synonyms or synonyms.startswith("DEFAULT_CONFIG:"):
        return None
    return ConfigValue(kind, name, config, config_value(config, value))
