"""Connection properties of Kafka's Java client, from a client.properties or an Airflow connection.

An Airflow connection has them in its extra, under the names of the Java client or of librdkafka (as in the conn type kafka). Host and port
are the bootstrap server unless the extra names one. Login and password are used for SASL/PLAIN, or for the extra's `sasl.mechanism`:

    {"conn_type": "kafka", "host": "b1.example", "port": 9093, "login": "audit", "password": "...",
     "extra": {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "ssl.ca.location": "/etc/ssl/ca.pem"}}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.errors import AuditError

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def from_file(path: Path | None, bootstrap: str | None) -> str:
    """Return the text of a client.properties, with the bootstrap servers of the command line added."""
    try:
        text = path.read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as e:
        raise AuditError(f"{path} cannot be read: {e}".splitlines()[0]) from e
    return f"{text}\nbootstrap.servers={bootstrap}\n" if bootstrap else text


def from_airflow(host: str | None, port: int | None, login: str | None, password: str | None, extra: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of an Airflow connection."""
    properties = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in extra.items() if value is not None}
    login, password = properties.pop("sasl.username", login), properties.pop("sasl.password", password)
    if "sasl.mechanisms" in properties:
        properties["sasl.mechanism"] = properties.pop("sasl.mechanisms")
    if host and "bootstrap.servers" not in properties:
        properties["bootstrap.servers"] = host if port is None else f"{host}:{port}"
    if login:
        properties.setdefault("security.protocol", "SASL_SSL")
    properties["security.protocol"] = properties.get("security.protocol", "PLAINTEXT").upper()
    if login and properties["security.protocol"].startswith("SASL") and "sasl.jaas.config" not in properties:
        mechanism = properties.setdefault("sasl.mechanism", "PLAIN")
        if mechanism not in _MODULES:
            raise AuditError(f"sasl.mechanism {mechanism} does not use login and password: add sasl.jaas.config to the extra")
        properties["sasl.jaas.config"] = f"{_MODULES[mechanism]} required username={_quoted(login)} password={_quoted(password or '')};"
    return _with_pem(properties)


def _quoted(text: str) -> str:
    """Quote a value for JAAS, where java.io.StreamTokenizer reads a backslash as an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _with_pem(properties: dict[str, str]) -> dict[str, str]:
    """Replace librdkafka's names of PEM files by the properties of the Java client, which has certificates and keys as PEM text."""
    if "ssl.ca.location" in properties:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": properties.pop("ssl.ca.location")}
    if "ssl.certificate.location" in properties and "ssl.key.location" in properties:
        try:
            chain, key = (Path(properties.pop(f"ssl.{part}.location")).read_text(encoding="ascii") for part in ("certificate", "key"))
        except (OSError, UnicodeDecodeError) as e:
            raise AuditError(f"the certificate of the connection cannot be read: {e}".splitlines()[0]) from e
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    return properties
