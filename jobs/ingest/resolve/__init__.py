"""resolve: the parsed files of one cluster become the rows of its tables.

    evidence.py         decides which of two contradicting entries is used
    columns.py          finds the entries of large dumps that stay in columns, because nothing contradicts them
    metadata_image.py   replays the records of KRaft's metadata log to one state
    cluster.py brokers.py topics.py partitions.py replicas.py groups.py key_samples.py files.py   the tables, a module for each subject

Sources of a table's values, best first:

    controller   kafka-features; kafka-metadata-quorum, or the APIs that brokers serve; the Elr column, which only KRaft fills; a configured
                 version that has only one kind; otherwise zookeeper is assumed
    version      the configuration of the source; the finalized metadata.version
    elr          kafka-features; a filled Elr column; an Elr column if every topic prints min.insync.replicas, as clusters with ELR do
    live         unfenced in kafka-cluster or kafka-broker-api-versions; in a broker list; answered kafka-log-dirs; leads or is in sync
    assignment   --members if it prints topics; the CONSUMER-ID of the offsets
    configs      the topic's own; the value that all brokers have, or the cluster's default, under the brokers' name of the config
    end offset   kafka-get-offsets; the largest LOG-END-OFFSET of a group

Entries that a dump lacks, for example partitions of a topic or of a member, count as missing and become rejected entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from jobs.ingest.facts import CaptureTime, KeySample, MetadataFile, MetadataRecord, ProposedReplicas
from jobs.ingest.resolve import brokers, cluster, groups, key_samples, partitions, replicas, settings, topics
from jobs.ingest.resolve.columns import split_columnar
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.files import input_file_table, rejected_input_table
from jobs.ingest.resolve.metadata_image import WITHOUT_FACT, MetadataSource, replay
from jobs.ingest.resolve.offsets import with_kind_of_offsets
from jobs.ingest.resolve.origin import Origin, ParsedFile
from kafka_model.release import Release

__all__ = ["ParsedFile", "resolve_cluster"]


def resolve_cluster(files: Iterable[ParsedFile], kafka_version: Release | None = None) -> Mapping[str, pa.Table]:
    """Return the rows of a cluster's tables by table name, sorted by key, without snapshot_id and cluster_id.

    `kafka_version` is the configured release of the cluster.
    """
    split_files, columns = split_columnar(sorted((with_kind_of_offsets(_dated_by_capture(file)) for file in files), key=_age))
    evidence = Evidence(split_files, columns)
    _add_facts(evidence)
    partitions.compare_assignments(evidence)
    all_partitions = partitions.all_partitions(evidence)
    replica = replicas.replica_table(evidence, all_partitions)
    topic = topics.topic_table(evidence, all_partitions)
    tables = {
        **brokers.broker_tables(evidence, all_partitions),
        "topic": topic,
        "partition": partitions.partition_table(evidence, all_partitions, replica),
        "replica": replica,
        **groups.group_tables(evidence, topic["topic"]),
        **settings.setting_tables(evidence),
        "partition_load": partitions.load_table(evidence),
        "proposed_reassignment": partitions.proposal_table(evidence),
        "key_sample": key_samples.key_sample_table(evidence.key_samples),
        "rejected_input": rejected_input_table(evidence),
        "input_file": input_file_table(evidence),
    }
    return tables | {"cluster": cluster.cluster_table(evidence, all_partitions, tables["input_file"], kafka_version)}


def _dated_by_capture(file: ParsedFile) -> ParsedFile:
    """Return a capture with the time when it was taken instead of the time when it was copied; any other file as it is."""
    start = next(iter(file.reading.parsed), None)
    return replace(file, written_at=start.fact.captured_at) if start and isinstance(start.fact, CaptureTime) else file


def _age(file: ParsedFile) -> tuple[object, str]:
    """Return the sort key of files: time in whole seconds, which every file system stores, then name."""
    return file.written_at.replace(microsecond=0), file.name


def _add_facts(evidence: Evidence) -> None:
    logs: list[MetadataSource] = []
    for file in evidence.files:
        evidence.rejected[file.name] += file.reading.rejected
        records: list[Origin] = []
        for parsed in file.reading.parsed:
            fact = parsed.fact
            if isinstance(fact, KeySample):
                evidence.key_samples.append(fact.rows)
            elif isinstance(fact, ProposedReplicas):
                evidence.add_proposal(Origin(file, parsed))
            elif isinstance(fact, MetadataRecord):
                records.append(Origin(file, parsed))
            elif isinstance(fact, MetadataFile):
                logs.append(MetadataSource(file.name, fact, records))
                records = []
            elif fact is not None and not isinstance(fact, CaptureTime):
                evidence.add(Origin(file, parsed))
    if logs:
        image, rejected = replay(logs)
        for origin, reason in rejected:
            report = evidence.report_missing if origin.fact.type in WITHOUT_FACT else evidence.reject  # such a record is no entry
            report(origin, reason)
        for origin, fact in image.facts():
            evidence.add(origin.with_fact(fact))
