"""topology-audit.toml beside the clusters of a source, and the Kafka version of each cluster that follows from it and from the dumps."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from jobs.errors import AuditError, NothingReadable
from jobs.ingest.cluster_tables import WRITES, cluster_tables
from jobs.ingest.configuration import EMPTY, ClusterConfiguration, parse_configuration
from jobs.ingest.source import list_clusters
from kafka_model.release import Release
from tests.jobs.ingest.dumps import ELR, PARTITION

FEATURE = "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.4-IV0\tFinalizedVersionLevel: {}\tEpoch: 1\n"
TOPICS = PARTITION.format("t", 0, 1, "1,2", "1,2")


def source(folder: Path, configuration: str, **clusters: str) -> str:
    """Write a source with this configuration, and a file with this text for each cluster."""
    folder.joinpath("topology-audit.toml").write_text(configuration)
    for name, text in clusters.items():
        folder.joinpath(name).mkdir()
        folder.joinpath(name, "dump.txt").write_text(text)
    return str(folder)


def tables(folder: str, name: str) -> pa.Table:
    """Return the rows of a table of all clusters of a source."""
    number = [table.name for table in WRITES].index(name)
    return pa.concat_tables(cluster_tables(fs.LocalFileSystem(), cluster, "s")[number] for cluster in list_clusters(folder))


def versions(folder: str) -> dict[str, tuple[str, str]]:
    columns = tables(folder, "cluster").select(["cluster_id", "kafka_version", "kafka_version_source"]).to_pylist()
    return {row["cluster_id"]: (row["kafka_version"], row["kafka_version_source"]) for row in columns}


def test_a_cluster_has_its_configured_version_or_the_newest_patch_of_its_metadata_version(tmp_path: Path) -> None:
    folder = source(
        tmp_path,
        '[cluster.configured]\nkafka_version = "4.1.0"\n[cluster.minor]\nkafka_version = "4.0"\n',
        configured=FEATURE.format("4.1-IV1"),
        minor=FEATURE.format("4.1-IV1"),
        name=FEATURE.format("4.1-IV1"),
        level=FEATURE.format("22"),
        future=FEATURE.format("4.9-IV0"),
        kraft=ELR.format("", ""),
        zookeeper=TOPICS,
    )
    assert versions(folder) == {
        "configured": ("4.1.0", "configured"),
        "minor": ("4.0.2", "configured"),
        "name": ("4.1.2", "metadata_version"),
        "level": ("4.0.2", "metadata_version"),
        "future": ("4.4.0", "assumed"),
        "kraft": ("4.4.0", "assumed"),
        "zookeeper": ("3.9.2", "assumed"),
    }
    assert tables(folder, "rejected_input").num_rows == 0
    assert set(tables(folder, "input_file")["file"].to_pylist()) == {"dump.txt"}


def test_a_configured_version_shows_the_kind_of_controller(tmp_path: Path) -> None:
    """A describe without ELR columns shows no kind. Kafka 2.8 to 3.9 have both."""
    configured = {"new": "4.0.0", "old": "2.7.2", "either": "3.9.1"}
    text = "".join(f'[cluster.{name}]\nkafka_version = "{version}"\n' for name, version in configured.items())
    columns = ["cluster_id", "controller", "controller_assumed"]
    found = tables(source(tmp_path, text, **dict.fromkeys(configured, TOPICS)), "cluster").select(columns).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [
        ("either", "zookeeper", True),
        ("new", "kraft", False),
        ("old", "zookeeper", False),
    ]


def test_the_configuration_of_a_single_cluster_is_no_dump_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "prod"
    folder.mkdir()
    folder.joinpath("topics.txt").write_text(TOPICS)
    assert versions(source(folder, '[cluster.prod]\nkafka_version = "3.7.1"\n')) == {"prod": ("3.7.1", "configured")}
    assert tables(str(folder), "input_file")["file"].to_pylist() == ["topics.txt"]


def test_a_configuration_alone_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(NothingReadable):
        list_clusters(source(tmp_path, "[cluster.a]\n"))


def test_a_configured_cluster_without_a_folder_is_reported(tmp_path: Path) -> None:
    folder = source(tmp_path, '[cluster.payment-us]\nkafka_version = "4.1.0"\n[cluster.a]\n', a=TOPICS)
    reported = tables(folder, "rejected_input").select(["cluster_id", "file", "reason"]).to_pylist()
    assert reported == [{"cluster_id": ".", "file": "topology-audit.toml", "reason": "configures clusters without a folder: payment-us"}]


def test_an_empty_configuration_is_valid() -> None:
    assert parse_configuration(b"") == EMPTY
    assert parse_configuration(b"[cluster.a]\n[cluster.'b c']\nkafka_version = '4.1.0'\n").clusters == {
        "a": ClusterConfiguration(None),
        "b c": ClusterConfiguration(Release(4, 1, 0)),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("kafka_version = '4.1.0'", "topology-audit.toml: kafka_version is not a known key: use cluster, limit, owner, waiver"),
        ("[clusters.a]", "topology-audit.toml: clusters is not a known key: use cluster, limit, owner, waiver; did you mean cluster?"),
        (
            "[cluster.a]\nkafka_verison = '4.1.0'",
            "topology-audit.toml: cluster.a.kafka_verison is not a known key: use kafka_version; did you mean kafka_version?",
        ),
        ("[cluster]\na = '4.1.0'", "topology-audit.toml: cluster.a must be a table, such as [cluster.payments-us], not '4.1.0'"),
        ("cluster = 1", "topology-audit.toml: cluster must be a table, such as [cluster.payments-us], not 1"),
        ("[cluster.a]\nkafka_version = 4.1", 'topology-audit.toml: cluster.a.kafka_version: must be text such as "4.1.0", not 4.1'),
        (
            "[cluster.a]\nkafka_version = '4.3-rc0'",
            "topology-audit.toml: cluster.a.kafka_version: Kafka 4.3-rc0 is not modelled: use an existing release from 2.0.0 to 4.4.0",
        ),
        (
            "[cluster.a]\n[cluster.a]",
            "topology-audit.toml cannot be parsed: Cannot declare ('cluster', 'a') twice (at line 2, column 11)",
        ),
        ("[cluster.\xff]".encode("latin-1"), "topology-audit.toml cannot be parsed: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_wrong_key_or_value_is_one_clear_line(content: str | bytes, message: str) -> None:
    with pytest.raises(AuditError) as refused:
        parse_configuration(content if isinstance(content, bytes) else content.encode())
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
