"""How to connect to a cluster: the properties of Kafka's Java client, from a client.properties or an Airflow connection.

An Airflow connection tells them in its extra, by the names of the Java client or of librdkafka (as the conn type kafka has them). Host and
port are the bootstrap server where the extra names none; login and password are those of SASL/PLAIN, or of the extra's `sasl.mechanism`:

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
    """The text of a client.properties, with the bootstrap servers that were named beside it."""
    try:
        text = path.read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as e:
        raise AuditError(f"{path} cannot be read: {e}".splitlines()[0]) from e
    return f"{text}\nbootstrap.servers={bootstrap}\n" if bootstrap else text


def from_airflow(host: str | None, port: int | None, login: str | None, password: str | None, extra: Mapping[str, Any]) -> dict[str, str]:
    """The properties that an Airflow connection tells."""
    told = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in extra.items() if value is not None}
    login, password = told.pop("sasl.username", login), told.pop("sasl.password", password)
    if "sasl.mechanisms" in told:
        told["sasl.mechanism"] = told.pop("sasl.mechanisms")
    if host and "bootstrap.servers" not in told:
        told["bootstrap.servers"] = host if port is None else f"{host}:{port}"
    if login:
        told.setdefault("security.protocol", "SASL_SSL")
    told["security.protocol"] = told.get("security.protocol", "PLAINTEXT").upper()
    if login and told["security.protocol"].startswith("SASL") and "sasl.jaas.config" not in told:
        mechanism = told.setdefault("sasl.mechanism", "PLAIN")
        if mechanism not in _MODULES:
            raise AuditError(f"sasl.mechanism {mechanism} takes no login and password: tell its sasl.jaas.config in the extra")
        told["sasl.jaas.config"] = f"{_MODULES[mechanism]} required username={_quoted(login)} password={_quoted(password or '')};"
    return _in_pem(told)


def _quoted(text: str) -> str:
    """As JAAS quotes: java.io.StreamTokenizer takes a backslash for an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _in_pem(told: dict[str, str]) -> dict[str, str]:
    """librdkafka's names of PEM files, by the Java client's, which takes certificates and keys as PEM text."""
    if "ssl.ca.location" in told:
        told |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": told.pop("ssl.ca.location")}
    if "ssl.certificate.location" in told and "ssl.key.location" in told:
        try:
            chain, key = (Path(told.pop(f"ssl.{part}.location")).read_text(encoding="ascii") for part in ("certificate", "key"))
        except (OSError, UnicodeDecodeError) as e:
            raise AuditError(f"the certificate of the connection cannot be read: {e}".splitlines()[0]) from e
        told |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    return told
