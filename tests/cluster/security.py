"""TLS and SASL of a test cluster: a key that keytool makes on the spot, and users of SCRAM and PLAIN."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs import jars
from tests.cluster import Cluster

USER, PASSWORD = "audit", 'a "quoted" \\ secret'  # as a password may be
_STORE = "store-secret"


@dataclass(frozen=True, slots=True)
class Security:
    """The brokers' properties, and the certificate that their clients trust."""

    properties: Mapping[str, str]
    certificate: Path

    def grant(self, kafka: Cluster) -> None:
        """Let the user in by SCRAM-SHA-512, as by PLAIN it is already."""
        user = ("--entity-type", "users", "--entity-name", USER)
        kafka.tool("kafka-configs", "--alter", *user, "--add-config", f"SCRAM-SHA-512=[password={PASSWORD}]")


def security(folder: Path) -> Security:
    """A self-signed key of 127.0.0.1 in the folder, and what the brokers need of it."""
    store, certificate = folder / "broker.p12", folder / "ca.pem"
    keytool = [str(Path(jars.java()).resolve().with_name("keytool")), "-keystore", str(store), "-storepass", _STORE, "-alias", "broker"]
    key = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "SAN=ip:127.0.0.1", "-validity", "2", "-storetype", "PKCS12"]
    subprocess.run([*keytool, *key], check=True, capture_output=True)
    subprocess.run([*keytool, "-exportcert", "-rfc", "-file", str(certificate)], check=True, capture_output=True)
    escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    plain = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{escaped}";'
    properties = {
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": _STORE,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": plain.replace("\\", "\\\\"),  # as a properties file has backslashes
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    }
    return Security(properties, certificate)
