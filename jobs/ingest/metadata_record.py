"""Records of KRaft's metadata log: the fields of each version, parsed from bytes or from the JSON of kafka-dump-log.

The fields are those of metadata/src/main/resources/common/metadata/*.json of Kafka 3.0 to 4.4 (MetadataRecordSerde, MessageUtil). All versions
are flexible: a length is an unsigned varint of the length plus one, or 0 for null; tagged fields are last.

    record value   1 (frame version)   3 (PARTITION_RECORD)   2 (its version)   fields in order   tagged fields
    uuid           as Kafka prints it: base64url, without padding

A record, version or tag that is not declared here is rejected.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from jobs.ingest.dump import Unreadable, plain_text


class Field(NamedTuple):
    """A field of a record; only a tagged field has a tag and a default."""

    name: str
    type: str | list[str] | list[Field] | tuple[Field, ...]  # a list: an array of a type or of structures; a tuple: a structure
    since: int = 0  # the first version of the record that has the field
    nullable: bool = False
    tag: int | None = None
    default: Any = None


@dataclass(frozen=True, slots=True)
class Schema:
    """The name of a record type, its newest version and its fields."""

    name: str
    newest: int
    fields: tuple[Field, ...]


def _endpoints(name: str = "endPoints") -> Field:
    return Field(name, [Field("name", "string"), Field("host", "string"), Field("port", "uint16"), Field("securityProtocol", "int16")])


_FEATURES = Field("features", [Field("name", "string"), Field("minSupportedVersion", "int16"), Field("maxSupportedVersion", "int16")])

SCHEMAS: dict[int, Schema] = {  # by apiKey
    0: Schema(
        "REGISTER_BROKER_RECORD",
        4,
        (
            Field("brokerId", "int32"),
            Field("isMigratingZkBroker", "bool", 2, default=False),
            Field("incarnationId", "uuid"),
            Field("brokerEpoch", "int64"),
            _endpoints(),
            _FEATURES,
            Field("rack", "string", nullable=True),
            Field("fenced", "bool"),
            Field("inControlledShutdown", "bool", 1, default=False),
            Field("logDirs", ["uuid"], 3, tag=0, default=[]),
            Field("cordonedLogDirs", ["uuid"], 4, nullable=True, tag=1),
        ),
    ),
    1: Schema("UNREGISTER_BROKER_RECORD", 0, (Field("brokerId", "int32"), Field("brokerEpoch", "int64"))),
    2: Schema("TOPIC_RECORD", 0, (Field("name", "string"), Field("topicId", "uuid"))),
    3: Schema(
        "PARTITION_RECORD",
        2,
        (
            Field("partitionId", "int32"),
            Field("topicId", "uuid"),
            Field("replicas", ["int32"]),
            Field("isr", ["int32"]),
            Field("removingReplicas", ["int32"]),
            Field("addingReplicas", ["int32"]),
            Field("leader", "int32"),
            Field("leaderRecoveryState", "int8", tag=0, default=0),
            Field("leaderEpoch", "int32"),
            Field("partitionEpoch", "int32"),
            Field("directories", ["uuid"], 1),
            Field("eligibleLeaderReplicas", ["int32"], 2, nullable=True, tag=1),
            Field("lastKnownElr", ["int32"], 2, nullable=True, tag=2),
        ),
    ),
    4: Schema(
        "CONFIG_RECORD",
        0,
        (
            Field("resourceType", "int8"),
            Field("resourceName", "string"),
            Field("name", "string"),
            Field("value", "string", nullable=True),
        ),
    ),
    5: Schema(
        "PARTITION_CHANGE_RECORD",
        2,
        (
            Field("partitionId", "int32"),
            Field("topicId", "uuid"),
            Field("isr", ["int32"], nullable=True, tag=0),
            Field("leader", "int32", tag=1, default=-2),
            Field("replicas", ["int32"], nullable=True, tag=2),
            Field("removingReplicas", ["int32"], nullable=True, tag=3),
            Field("addingReplicas", ["int32"], nullable=True, tag=4),
            Field("leaderRecoveryState", "int8", tag=5, default=-1),
            Field("eligibleLeaderReplicas", ["int32"], 2, nullable=True, tag=6),
            Field("lastKnownElr", ["int32"], 2, nullable=True, tag=7),
            Field("directories", ["uuid"], 1, nullable=True, tag=8),
        ),
    ),
    7: Schema("FENCE_BROKER_RECORD", 0, (Field("id", "int32"), Field("epoch", "int64"))),
    8: Schema("UNFENCE_BROKER_RECORD", 0, (Field("id", "int32"), Field("epoch", "int64"))),
    9: Schema("REMOVE_TOPIC_RECORD", 0, (Field("topicId", "uuid"),)),
    10: Schema(
        "DELEGATION_TOKEN_RECORD",
        0,
        (
            Field("owner", "string"),
            Field("requester", "string"),
            Field("renewers", ["string"]),
            Field("issueTimestamp", "int64"),
            Field("maxTimestamp", "int64"),
            Field("expirationTimestamp", "int64"),
            Field("tokenId", "string"),
        ),
    ),
    11: Schema(
        "USER_SCRAM_CREDENTIAL_RECORD",
        0,
        (
            Field("name", "string"),
            Field("mechanism", "int8"),
            Field("salt", "bytes"),
            Field("storedKey", "bytes"),
            Field("serverKey", "bytes"),
            Field("iterations", "int32"),
        ),
    ),
    12: Schema("FEATURE_LEVEL_RECORD", 0, (Field("name", "string"), Field("featureLevel", "int16"))),
    14: Schema(
        "CLIENT_QUOTA_RECORD",
        0,
        (
            Field("entity", [Field("entityType", "string"), Field("entityName", "string", nullable=True)]),
            Field("key", "string"),
            Field("value", "float64"),
            Field("remove", "bool"),
        ),
    ),
    15: Schema("PRODUCER_IDS_RECORD", 0, (Field("brokerId", "int32"), Field("brokerEpoch", "int64"), Field("nextProducerId", "int64"))),
    17: Schema(
        "BROKER_REGISTRATION_CHANGE_RECORD",
        3,
        (
            Field("brokerId", "int32"),
            Field("brokerEpoch", "int64"),
            Field("fenced", "int8", tag=0, default=0),
            Field("inControlledShutdown", "int8", 1, tag=1, default=0),
            Field("logDirs", ["uuid"], 2, tag=2, default=[]),
            Field("cordonedLogDirs", ["uuid"], 3, nullable=True, tag=3),
        ),
    ),
    18: Schema(
        "ACCESS_CONTROL_ENTRY_RECORD",
        0,
        (
            Field("id", "uuid"),
            Field("resourceType", "int8"),
            Field("resourceName", "string"),
            Field("patternType", "int8"),
            Field("principal", "string"),
            Field("host", "string"),
            Field("operation", "int8"),
            Field("permissionType", "int8"),
        ),
    ),
    19: Schema("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, (Field("id", "uuid"),)),
    20: Schema("NO_OP_RECORD", 0, ()),
    21: Schema("ZK_MIGRATION_STATE_RECORD", 0, (Field("zkMigrationState", "int8"),)),
    22: Schema("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, (Field("name", "string"), Field("mechanism", "int8"))),
    23: Schema("BEGIN_TRANSACTION_RECORD", 0, (Field("name", "string", nullable=True, tag=0),)),
    24: Schema("END_TRANSACTION_RECORD", 0, ()),
    25: Schema("ABORT_TRANSACTION_RECORD", 0, (Field("reason", "string", nullable=True, tag=0),)),
    26: Schema("REMOVE_DELEGATION_TOKEN_RECORD", 0, (Field("tokenId", "string"),)),
    27: Schema(
        "REGISTER_CONTROLLER_RECORD",
        0,
        (
            Field("controllerId", "int32"),
            Field("incarnationId", "uuid"),
            Field("zkMigrationReady", "bool"),
            _endpoints(),
            _FEATURES,
        ),
    ),
    28: Schema("CLEAR_ELR_RECORD", 0, (Field("topicName", "string"),)),
    29: Schema("UNREGISTER_CONTROLLER_RECORD", 0, (Field("controllerId", "int32"),)),
}
_BY_NAME = {schema.name: schema for schema in SCHEMAS.values()}


def _voters(name: str) -> Field:
    return Field(name, [Field("voterId", "int32"), Field("voterDirectoryId", "uuid", 1)])


_SUPPORTED_VERSIONS = (Field("minSupportedVersion", "int16"), Field("maxSupportedVersion", "int16"))
# The values of control records. The first field, the version, is that of the value; kafka-dump-log prints it too (ControlRecordUtils).
CONTROL_SCHEMAS: dict[int, Schema] = {  # by type
    2: Schema("LeaderChange", 1, (Field("version", "int16"), Field("leaderId", "int32"), _voters("voters"), _voters("grantingVoters"))),
    3: Schema("SnapshotHeader", 0, (Field("version", "int16"), Field("lastContainedLogTimestamp", "int64"))),
    4: Schema("SnapshotFooter", 0, (Field("version", "int16"),)),
    5: Schema("KRaftVersion", 0, (Field("version", "int16"), Field("kRaftVersion", "int16"))),
    6: Schema(
        "KRaftVoters",
        0,
        (
            Field("version", "int16"),
            Field(
                "voters",
                [
                    Field("voterId", "int32"),
                    Field("voterDirectoryId", "uuid"),
                    Field("endpoints", [Field("name", "string"), Field("host", "string"), Field("port", "uint16")]),
                    Field("kRaftVersionFeature", _SUPPORTED_VERSIONS),
                ],
            ),
        ),
    ),
}
_CONTROL_BY_NAME = {schema.name: schema for schema in CONTROL_SCHEMAS.values()}
_NUMBERS = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
    "bool": struct.Struct(">?"),
}
_BOUNDS = {"int8": 2**7, "int16": 2**15, "int32": 2**31, "int64": 2**63}
_MOST_TAGS = 64


class ByteReader:
    """Reads bytes from front to back, and never beyond their end."""

    __slots__ = ("data", "end", "position")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data, self.position, self.end = data, start, len(data) if end is None else end

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        start = self.position
        if size < 0 or self.end - start < size:
            raise Unreadable("the record ends within a field")
        self.position = start + size
        return self.data[start : start + size]

    def number(self, layout: struct.Struct) -> Any:
        """Return the next number of a fixed size."""
        start = self.position
        if self.end - start < layout.size:
            raise Unreadable("the record ends within a field")
        self.position = start + layout.size
        return layout.unpack_from(self.data, start)[0]

    def unsigned(self, bits: int = 32) -> int:
        """Return the next unsigned varint."""
        value = shift = 0
        while True:
            if self.position >= self.end:
                raise Unreadable("the record ends within a number")
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= bits + 3:
                raise Unreadable("a number has too many bytes")
        if value >> bits:
            raise Unreadable("a number has too many bytes")
        return value

    def signed(self, bits: int = 32) -> int:
        """Return the next zigzag varint."""
        value = self.unsigned(bits)
        return (value >> 1) ^ -(value & 1)

    def done(self) -> None:
        """Fail if bytes are left over."""
        if self.position < self.end:
            raise Unreadable(f"{self.end - self.position} bytes are left over")


def from_bytes(value: ByteReader) -> tuple[str, dict[str, Any]]:
    """Parse the value of a record. Return its type and its fields."""
    if (frame := value.unsigned()) != 1:
        raise Unreadable(f"frame version {frame} of a metadata record is unknown")
    key, version = value.unsigned(), value.unsigned()
    schema = _known(SCHEMAS.get(key), f"type {key}", version)
    fields = _structure(value, schema.fields, version)
    value.done()
    return schema.name, fields


def control_from_bytes(number: int, value: ByteReader) -> tuple[str, dict[str, Any]]:
    """Parse the value of a control record of this type. Return the name of the type and its fields."""
    [version] = struct.unpack_from(">h", value.data[value.position : value.end].ljust(2, b"\0"))
    schema = _known(CONTROL_SCHEMAS.get(number), f"control type {number}", version)
    fields = _structure(value, schema.fields, version)
    value.done()
    return schema.name, fields


def control_from_json(name: str, data: Any) -> dict[str, Any]:
    """Parse the value of a control record as kafka-dump-log prints it. Return its fields."""
    version = data.get("version") if isinstance(data, Mapping) else None
    return _json_structure(data, _known(_CONTROL_BY_NAME.get(name), f"control type {name}", version).fields, version)


def from_json(name: Any, version: Any, data: Any) -> tuple[str, dict[str, Any]]:
    """Parse a record as kafka-dump-log prints it. Return its type and its fields."""
    schema = _known(_BY_NAME.get(name) if isinstance(name, str) else None, f"type {name}", version)
    return schema.name, _json_structure(data, schema.fields, version)


def _known(schema: Schema | None, name: str, version: Any) -> Schema:
    if schema is None:
        raise Unreadable(f"a metadata record of {name} is unknown")
    if not isinstance(version, int) or not 0 <= version <= schema.newest:
        raise Unreadable(f"version {version} of {schema.name} is unknown")
    return schema


def _structure(value: ByteReader, fields: tuple[Field, ...] | list[Field], version: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    tagged = {}
    for field in fields:
        if field.tag is not None or field.since > version:
            values[field.name] = field.default
            if field.since <= version:
                tagged[field.tag] = field
        else:
            values[field.name] = _value(value, field, version)
    previous_tag = -1
    count = value.unsigned()
    if count > _MOST_TAGS:
        raise Unreadable(f"{count} tagged fields")
    for _ in range(count):
        tag, size = value.unsigned(), value.unsigned()
        if tag <= previous_tag or tag not in tagged:
            raise Unreadable(f"a field with tag {tag} is unknown")
        previous_tag = tag
        inner = ByteReader(value.data, value.position, value.position + size)
        value.take(size)
        values[tagged[tag].name] = _value(inner, tagged[tag], version)
        inner.done()
    return values


def _value(value: ByteReader, field: Field, version: int) -> Any:
    kind = field.type
    if isinstance(kind, tuple):
        return _structure(value, kind, version)
    if isinstance(kind, str):
        if layout := _NUMBERS.get(kind):
            return value.number(layout)
        if kind == "uuid":
            return _uuid(value.take(16))
        size = value.unsigned() - 1
        if size < 0:
            return _null(field)
        data = value.take(size)
        return data if kind == "bytes" else _text(data, field.name)
    count = value.unsigned() - 1
    if count < 0:
        return _null(field)
    if count > value.end - value.position:  # an element has at least a byte
        raise Unreadable("the record ends within a list")
    [element, *_] = kind
    if isinstance(element, Field):
        return [_structure(value, kind, version) for _ in range(count)]
    if layout := _NUMBERS.get(element):
        return list(struct.unpack(f">{count}{layout.format[1:]}", value.take(count * layout.size)))
    inner = Field(field.name, element)
    return [_value(value, inner, version) for _ in range(count)]


@lru_cache(1 << 14)  # a log contains the same topics and directories many times
def _uuid(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _null(field: Field) -> None:
    if not field.nullable:
        raise Unreadable(f"{field.name} is null")


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{name} is not text") from None


def _json_structure(data: Any, fields: tuple[Field, ...] | list[Field], version: int) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise Unreadable("not a JSON object")
    values = {}
    for field in fields:
        if field.name in data and field.since <= version:
            values[field.name] = _json_value(data[field.name], field, version)
        elif field.tag is None and field.since <= version:
            raise Unreadable(f"{field.name} is missing")
        else:
            values[field.name] = field.default
    if unknown_fields := data.keys() - {field.name for field in fields if field.since <= version}:
        raise Unreadable(f"the field {min(unknown_fields)} is unknown")
    return values


def _json_value(data: Any, field: Field, version: int) -> Any:
    kind = field.type
    if data is None:
        return _null(field)
    if isinstance(kind, tuple):
        return _json_structure(data, kind, version)
    if isinstance(kind, list):
        if not isinstance(data, list):
            raise Unreadable(f"{field.name} is not a list")
        if isinstance(kind[0], Field):
            return [_json_structure(element, kind, version) for element in data]
        inner = Field(field.name, kind[0])
        return [_json_value(element, inner, version) for element in data]
    if kind == "bytes":
        return plain_text(data, field.name)
    if kind == "uuid":
        return _json_uuid(data, field.name)
    if kind == "string":
        return plain_text(data, field.name)
    if kind == "bool":
        valid = isinstance(data, bool)
    elif kind == "float64":
        valid = isinstance(data, int | float) and not isinstance(data, bool)
    else:
        low, high = (0, 2**16) if kind == "uint16" else (-_BOUNDS[kind], _BOUNDS[kind])
        valid = isinstance(data, int) and not isinstance(data, bool) and low <= data < high
    if not valid:
        raise Unreadable(f"{field.name} is not {kind}")
    return data


def _json_uuid(data: Any, name: str) -> str:
    try:
        decoded = base64.b64decode(plain_text(data, name) + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != 16:
        raise Unreadable(f"{name} is not a uuid")
    return data
