"""kafka-configs --describe (kafka.admin.ConfigCommand): of topics, of brokers, and of all brokers by default.

    Dynamic configs for topic ledger are:                      `All configs for` with --all
      min.insync.replicas=3 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=3, DEFAULT_CONFIG:min.insync.replicas=1}
    Dynamic configs for broker 3 are:
      log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2, ...}
    Default configs for brokers in the cluster are:
      log.retention.ms=86400000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=86400000}
    Configs for topic 'orders' are retention.ms=1000,cleanup.policy=compact,delete                                  up to 2.x

The first synonym is the one in force. What is Kafka's own default is understood and not kept, and so is what is sensitive, and what other
entities have (users, clients, groups).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, config_value, identifier, plain_text, topic_name
from jobs.ingest.facts import ConfigTold
from jobs.ingest.formats.kafka_topics import configs_of

NAME = "kafka-configs"

_HEADER = re.compile(r"(?:Dynamic|All) configs for ([a-z-]{1,30}) (.{1,300}) are:|Default configs for ([a-z-]{1,30}) in the cluster are:")
_CONFIG = re.compile(r"  ([A-Za-z0-9._-]{1,300})=(.*) sensitive=(true|false) synonyms=\{(.*)\}")
_FLAT = re.compile(r"Configs for ([a-z-]{1,30}) '([^']{1,300})' are ?(.*)")
_KNOWN_BY = re.compile(rf"^(?:{_HEADER.pattern}|{_FLAT.pattern})[ \t\r]*$", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Whether it says whose configs follow."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """A fact for each config that is set."""
    entity: tuple[str, str] | None = None
    for number, line in dump.lines():
        try:
            if match := _HEADER.fullmatch(line.rstrip()):
                entity = None
                entity = _entity(match[1], match[2]) if match[1] else (match[3].removesuffix("s"), "")
                yield Told(number, line, None)
            elif match := _FLAT.fullmatch(line.rstrip()):
                kind, name = _entity(match[1].removesuffix("s"), match[2])
                configs = configs_of(match[3]) if kind == "topic" else {}
                yield Told(number, line, None)
                for config, value in configs.items():
                    yield Told(number, line, ConfigTold(kind, name, config, value), entries=0)
            elif entity is None:
                raise Unreadable("it is not told whose config it is")
            elif match := _CONFIG.fullmatch(line.rstrip()):
                yield Told(number, line, _told(entity, *match.groups()))
            else:
                raise Unreadable("not the line of a config")
        except Unreadable as e:
            yield Rejected(number, re.sub("=.*", "=...", line, count=1), str(e))  # a password may stand there


def _entity(kind: str, name: str) -> tuple[str, str]:
    if kind == "topic":
        return kind, topic_name(name)
    if kind == "broker":
        return kind, str(identifier(name, "a broker's id"))
    return kind, plain_text(name, "the name")


def _told(entity: tuple[str, str], config: str, value: str, sensitive: str, synonyms: str) -> ConfigTold | None:
    kind, name = entity
    if kind not in ("topic", "broker") or sensitive == "true" or not synonyms or synonyms.startswith("DEFAULT_CONFIG:"):
        return None
    return ConfigTold(kind, name, config, config_value(config, value))
