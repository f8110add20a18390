"""kafka-configs --describe: configs of topics, of brokers, and the cluster's default for all brokers.

Printed by kafka.admin.ConfigCommand.

    Dynamic configs for topic ledger are:                      `All configs for` with --all
      min.insync.replicas=3 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=3, DEFAULT_CONFIG:min.insync.replicas=1}
    Dynamic configs for broker 3 are:
      log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2, ...}
    Default configs for brokers in the cluster are:
      log.retention.ms=86400000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=86400000}
    Configs for topic 'orders' are retention.ms=1000,cleanup.policy=compact,delete                                  up to 2.x
    Quota configs for user-principal 'alice', client-id 'app' are consumer_byte_rate=1024.0, producer_byte_rate=2048.0        2.6 on
    Quota configs for the default client-id are request_percentage=50.0
    SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=4096

The first synonym is the one in effect. Kafka's own defaults, sensitive configs and credentials are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import QUOTAS, Dump, Parsed, Rejected, Unreadable, config_value, identifier, plain_text, quota_value, topic_name
from jobs.ingest.facts import ClientQuota, ConfigValue, Fact
from jobs.ingest.formats.kafka_topics import configs_of
from jobs.ingest.precedence import Precedence

NAME = "kafka-configs"
PRECEDENCE = Precedence.KAFKA_TOOL

_HEADER = re.compile(r"(?:Dynamic|All) configs for ([a-z-]{1,30}) (.{1,300}) are:|Default configs for ([a-z-]{1,30}) in the cluster are:")
_CONFIG = re.compile(r"  ([A-Za-z0-9._-]{1,300})=(.*) sensitive=(true|false) synonyms=\{(.*)\}")
_FLAT = re.compile(r"Configs for ([a-z-]{1,30}) '([^']{1,300})' are ?(.*)")
_ENTITY = r"(?:the default (?:user-principal|client-id|ip)|(?:user-principal|client-id|ip) '[^']{0,300}')"
_QUOTAS = re.compile(rf"Quota configs for ({_ENTITY}(?:, {_ENTITY})?) are (.+)")
_QUOTA_ENTITY = re.compile(r"(the default )?(user-principal|client-id|ip)(?: '([^']*)')?")
_CREDENTIALS = re.compile(rf"SCRAM credential configs for {_ENTITY} are .*")
_DEFAULT = "<default>"
_KINDS = {"topic": "topic", "broker": "broker", "group": "group", "client-metric": "client-metrics", "client-metrics": "client-metrics"}
_KNOWN_BY = re.compile(rf"^(?:{_HEADER.pattern}|{_FLAT.pattern}|{_QUOTAS.pattern}|{_CREDENTIALS.pattern})[ \t\r]*$", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a header of an entity."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each config and quota that is set."""
    entity: tuple[str, str] | None = None
    for number, line in dump.lines():
        try:
            if match := _HEADER.fullmatch(line.rstrip()):
                entity = None
                entity = _entity(match[1], match[2]) if match[1] else (match[3].removesuffix("s"), "")
                yield Parsed(number, line, None)
            elif match := _FLAT.fullmatch(line.rstrip()):
                facts = _flat_facts(match[1].removesuffix("s"), *match.groups()[1:])
                for index, fact in enumerate(facts or [None]):
                    yield Parsed(number, line, fact, entries=int(index == 0))
            elif match := _QUOTAS.fullmatch(line.rstrip()):
                quotas = _quotas(*match.groups())
                for index, quota in enumerate(quotas):
                    yield Parsed(number, line, quota, entries=int(index == 0))
            elif _CREDENTIALS.fullmatch(line.rstrip()):
                yield Parsed(number, "a credential", None)
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


def _flat_facts(kind: str, name: str, configs: str) -> list[Fact]:
    """Return the configs of a line of Kafka up to 2.x; those of users and clients are quotas, or credentials, which are skipped."""
    kind, name = _entity(kind, name)
    if kind in _KINDS:
        return [ConfigValue(_KINDS[kind], name, config, value) for config, value in configs_of(configs).items()]
    user, client_id = (name if kind == label else None for label in ("user-principal", "client-id"))
    if user is client_id is None:
        raise Unreadable(f"configs of a {kind} are unknown")
    pairs = [pair.partition("=") for pair in configs.split(",")]
    return [ClientQuota(user, client_id, None, quota, quota_value(value, quota)) for quota, _, value in pairs if quota in QUOTAS]


def _quotas(entities: str, values: str) -> list[ClientQuota]:
    names = {
        kind: _DEFAULT if default else plain_text(name, "the name of the entity") for default, kind, name in _QUOTA_ENTITY.findall(entities)
    }
    pairs = [pair.partition("=") for pair in values.split(", ")]
    user, client_id, ip = (names.get(kind) for kind in ("user-principal", "client-id", "ip"))
    return [ClientQuota(user, client_id, ip, plain_text(quota, "a quota"), quota_value(value, quota)) for quota, _, value in pairs]


def _config(entity: tuple[str, str], config: str, value: str, sensitive: str, synonyms: str) -> ConfigValue | None:
    kind, name = entity
    if sensitive == "true" or not synonyms or synonyms.startswith("DEFAULT_CONFIG:"):
        return None
    if kind not in _KINDS:
        raise Unreadable(f"configs of a {kind} are unknown")
    return ConfigValue(_KINDS[kind], name, config, config_value(config, value))
