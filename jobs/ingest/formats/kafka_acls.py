"""kafka-acls --list, of all resources or of some, also with --principal.

Printed by org.apache.kafka.tools.AclCommand, in earlier versions kafka.admin.AclCommand.

    ACLs for principal `User:alice`                                                                        with --principal
    Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`:
     \t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)

    Current ACLs for resource `Topic:LITERAL:orders`:                                                      2.0 to 2.2
     \tUser:alice has Allow permission for operations: Read from hosts: *
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, plain_text
from jobs.ingest.facts import AccessControl
from jobs.ingest.precedence import Precedence

NAME = "kafka-acls"
PRECEDENCE = Precedence.KAFKA_TOOL

_RESOURCE = re.compile(
    r"Current ACLs for resource `(?:ResourcePattern\(resourceType=([A-Z_]{1,30}), name=(.{1,300}), patternType=([A-Z]{1,30})\)"
    r"|([A-Za-z]{1,30}):(LITERAL|PREFIXED):(.{1,300}))`:[ ]?"
)
_PRINCIPAL = re.compile(r"ACLs for principal `.{1,300}`")
_ENTRY = re.compile(
    r"[ ]?\t\(principal=(.{1,300}), host=(.{1,300}), operation=([A-Z_]{1,30}), permissionType=([A-Z]{1,30})\)[ ]?"
    r"|[ ]?\t(.{1,300}) has ([A-Z][a-z]{1,30}) permission for operations: ([A-Za-z]{1,30}) from hosts: (\S{1,300})[ ]?"
)
_KNOWN_BY = re.compile(rf"^{_RESOURCE.pattern}\r?$", re.MULTILINE)
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains the header of a resource."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each access control entry."""
    resource: tuple[str, str, str] | None = None
    for number, line in dump.lines():
        try:
            if match := _RESOURCE.fullmatch(line):
                resource = None
                kind, name, pattern, early_kind, early_pattern, early_name = match.groups()
                resource = (kind or _constant(early_kind), plain_text(name or early_name, "the name"), pattern or early_pattern)
                yield Parsed(number, line, None)
            elif _PRINCIPAL.fullmatch(line):
                yield Parsed(number, line, None)
            elif match := _ENTRY.fullmatch(line):
                if resource is None:
                    raise Unreadable("no resource above it")
                yield Parsed(number, line, _entry(resource, *match.groups()))
            else:
                raise Unreadable("neither a resource nor an access control entry")
        except Unreadable as e:
            yield Rejected(number, line, str(e))


def _entry(resource: tuple[str, str, str], *groups: str | None) -> AccessControl:
    principal, host, operation, permission, early_principal, early_permission, early_operation, early_host = groups
    if operation is None:
        operation, permission = _constant(early_operation or ""), _constant(early_permission or "")
    principal, host = (
        plain_text(text or "", name) for text, name in ((principal or early_principal, "principal"), (host or early_host, "host"))
    )
    return AccessControl(*resource, principal, host, operation, permission or "")


def _constant(name: str) -> str:
    """Return the constant of the name that Kafka printed up to 2.2, for example DESCRIBE_CONFIGS for DescribeConfigs."""
    return _WORD_START.sub("_", name).upper()
