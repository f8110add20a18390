"""TLS and SASL of a test cluster: keys of brokers and clients, created by keytool, and users of SCRAM and PLAIN."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates

from jobs.spark import jars
from tests.cluster import Cluster

USER, PASSWORD = "audit", 'a "quoted" \\ secret'  # characters that need escaping
STORE_PASSWORD = "store-secret"


@dataclass(frozen=True, slots=True)
class Security:
    """The brokers' properties, the certificate that clients trust, and the key that a client must have."""

    properties: Mapping[str, str]
    certificate: Path
    client_store: Path
    client_certificate: Path
    client_key: Path

    def create_user(self, kafka: Cluster) -> None:
        """Create the user for SCRAM-SHA-512; for PLAIN it exists already."""
        user = ("--entity-type", "users", "--entity-name", USER)
        kafka.tool("kafka-configs", "--alter", *user, "--add-config", f"SCRAM-SHA-512=[password={PASSWORD}]")


def security(folder: Path) -> Security:
    """Create self-signed keys of 127.0.0.1 in the folder, and return the settings that use them."""
    store, certificate = _key(folder, "broker")
    client_store, client_certificate = _key(folder, "client")
    key, *_ = load_key_and_certificates(client_store.read_bytes(), STORE_PASSWORD.encode())
    client_key = folder / "client.key"
    client_key.write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()))
    escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    plain = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{escaped}";'
    properties = {
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(client_certificate),
        "listener.name.sasl_ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": plain.replace("\\", "\\\\"),  # a properties file needs doubled backslashes
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    }
    return Security(properties, certificate, client_store, client_certificate, client_key)


def _key(folder: Path, name: str) -> tuple[Path, Path]:
    """Create a store with a new key, and its certificate."""
    store, certificate = folder / f"{name}.p12", folder / f"{name}.pem"
    keytool = [str(Path(jars.java()).resolve().with_name("keytool")), "-keystore", str(store), "-storepass", STORE_PASSWORD, "-alias", name]
    key = ["-genkeypair", "-keyalg", "EC", "-dname", f"CN={name}", "-ext", "SAN=ip:127.0.0.1", "-validity", "2", "-storetype", "PKCS12"]
    subprocess.run([*keytool, *key], check=True, capture_output=True)
    subprocess.run([*keytool, "-exportcert", "-rfc", "-file", str(certificate)], check=True, capture_output=True)
    return store, certificate
