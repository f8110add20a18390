"""Conversion of Airflow connections and client.properties to properties of Kafka's Java client."""

from pathlib import Path

import pytest

from jobs.capture.connection import from_airflow, from_file
from jobs.errors import AuditError


def test_host_and_port_are_the_bootstrap_server_unless_the_extra_has_one() -> None:
    assert from_airflow("b1", 9092, None, None, {}) == {"bootstrap.servers": "b1:9092", "security.protocol": "PLAINTEXT"}
    assert from_airflow("b1", None, None, None, {"bootstrap.servers": "b2:1,b3:1"})["bootstrap.servers"] == "b2:1,b3:1"


def test_login_and_password_mean_sasl_plain_over_tls_unless_the_extra_differs() -> None:
    properties = from_airflow("b1", 1, 'me "x"', "a\\b\nc", {})
    assert (properties["security.protocol"], properties["sasl.mechanism"]) == ("SASL_SSL", "PLAIN")
    assert properties["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="me \\"x\\"" password="a\\\\b\\nc";'
    )
    scram = from_airflow("b1", 1, "me", "pw", {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256"})
    assert scram["security.protocol"] == "SASL_PLAINTEXT"
    assert scram["sasl.jaas.config"].startswith("org.apache.kafka.common.security.scram.ScramLoginModule required ")


def test_librdkafka_names_become_java_properties(tmp_path: Path) -> None:
    for name in ("cert", "key"):
        (tmp_path / f"{name}.pem").write_text(f"-----BEGIN {name}-----\n")
    extra = {
        "bootstrap.servers": "b:1",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "pw",
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": str(tmp_path / "cert.pem"),
        "ssl.key.location": str(tmp_path / "key.pem"),
        "ssl.key.password": "kp",
        "allow.auto.create.topics": False,
    }
    assert from_airflow(None, None, None, None, extra) == {
        "bootstrap.servers": "b:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="pw";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "-----BEGIN cert-----\n",
        "ssl.keystore.key": "-----BEGIN key-----\n",
        "ssl.key.password": "kp",
        "allow.auto.create.topics": "false",
    }


def test_an_unusable_connection_fails_with_a_reason() -> None:
    with pytest.raises(AuditError, match=r"GSSAPI does not use login and password: add sasl\.jaas\.config"):
        from_airflow("b", 1, "me", "pw", {"sasl.mechanism": "GSSAPI"})
    with pytest.raises(AuditError, match="certificate of the connection cannot be read"):
        from_airflow("b", 1, None, None, {"ssl.certificate.location": "/no", "ssl.key.location": "/no"})
    with pytest.raises(AuditError, match=r"no\.properties cannot be read"):
        from_file(Path("/no.properties"), None)


def test_the_bootstrap_server_option_overrides_the_file(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("bootstrap.servers=a:1\nclient.id=x")
    assert from_file(config, "b:2").splitlines()[-1] == "bootstrap.servers=b:2"
