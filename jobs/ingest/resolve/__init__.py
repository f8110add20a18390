"""resolve: the parsed files of one cluster become the rows of its tables.

    evidence.py         which of two contradicting entries stands; the other is rejected with both values
    columns.py          large dumps that stay columns, because nothing contradicts them
    metadata_image.py   the records of KRaft's metadata log, replayed to one state
    cluster.py brokers.py topics.py partitions.py replicas.py groups.py key_samples.py files.py   the tables, a module for each subject

Where a table's values come from, best first:

    controller   kafka-features; kafka-metadata-quorum or the APIs that brokers serve; the Elr column, which only KRaft fills; ZooKeeper
    elr          kafka-features; a filled Elr column, or one where every topic shows min.insync.replicas, as clusters that keep the ELR do
    live         unfenced in kafka-cluster or kafka-broker-api-versions; in a broker list; answered kafka-log-dirs; leads or is in sync
    assignment   --members where it prints topics; the CONSUMER-ID of the offsets
    configs      the topic's own; what all brokers have, or the cluster's default, under the brokers' name for it
    end offset   kafka-get-offsets; the largest LOG-END-OFFSET of a group

Entries that a dump should have (a topic's partitions, those of a member) count as missing, and as rejected entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from jobs.ingest.facts import Captured, KeySample, MetadataFile, MetadataRecord
from jobs.ingest.resolve import brokers, cluster, files, groups, key_samples, partitions, replicas, topics
from jobs.ingest.resolve.columns import split_columnar
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.metadata_image import MetadataSource, replay
from jobs.ingest.resolve.origin import Origin, ParsedFile

__all__ = ["ParsedFile", "resolve_cluster"]


def resolve_cluster(parsed: Iterable[ParsedFile]) -> Mapping[str, pa.Table]:
    """Return the rows of a cluster's tables by table name, sorted by key, without snapshot_id and cluster_id."""
    of_cluster, columns = split_columnar(sorted(map(_at_capture_time, parsed), key=_age))
    evidence = Evidence(of_cluster, columns)
    _add_facts(evidence)
    partitions.compare_assignments(evidence)
    columnar = partitions.partitions_of(evidence)
    replica = replicas.replica_table(evidence, columnar)
    tables = {
        "broker": brokers.broker_table(evidence, columnar),
        "log_dir": brokers.log_dir_table(evidence),
        "topic": topics.topic_table(evidence, columnar),
        "partition": partitions.partition_table(evidence, columnar, replica),
        "replica": replica,
        **groups.group_tables(evidence),
        "partition_load": partitions.load_table(evidence),
        "key_sample": key_samples.key_sample_table(evidence.samples),
        "rejected_input": files.rejected_input_table(evidence),
        "input_file": files.input_file_table(evidence),
    }
    return tables | {"cluster": cluster.cluster_table(evidence, columnar, tables["input_file"])}


def _at_capture_time(file: ParsedFile) -> ParsedFile:
    """Date a capture by the time at which it was taken, wherever it was copied since."""
    first = next(iter(file.reading.parsed), None)
    return replace(file, written_at=first.fact.at) if first and isinstance(first.fact, Captured) else file


def _age(file: ParsedFile) -> tuple[object, str]:
    """Order files by time to the second, which is what file systems agree on, then by name."""
    return file.written_at.replace(microsecond=0), file.name


def _add_facts(evidence: Evidence) -> None:
    logs: list[MetadataSource] = []
    for file in evidence.files:
        evidence.rejected[file.name] += file.reading.rejected
        records: list[Origin] = []
        for parsed in file.reading.parsed:
            fact = parsed.fact
            if isinstance(fact, KeySample):
                evidence.samples.append(fact.rows)
            elif isinstance(fact, MetadataRecord):
                records.append(Origin(file, parsed))
            elif isinstance(fact, MetadataFile):
                logs.append(MetadataSource(file.name, fact, records))
                records = []
            elif fact is not None and not isinstance(fact, Captured):
                evidence.add(Origin(file, parsed))
    if logs:
        image, unused = replay(logs)
        for origin, reason in unused:
            evidence.reject(origin, reason)
        for origin, fact in image.facts():
            evidence.add(origin.with_fact(fact))
