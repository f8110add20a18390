"""Every accepted entry of a dump reaches a table: with it, the rows of some table differ from those without it."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from jobs.ingest.dump import Parsed
from jobs.ingest.facts import ControllerKind, MetadataFile, MetadataRecord
from jobs.ingest.formats import FORMATS
from jobs.ingest.reading import read_dump
from jobs.ingest.resolve import ParsedFile, resolve_cluster
from jobs.ingest.resolve.metadata_image import WITHOUT_FACT
from tests.jobs.ingest.dumps import NOW, Tables, rejects, resolved, rows
from tests.jobs.ingest.fuzz import seed_inputs
from tests.jobs.ingest.test_reading import DUMPS

RECORDED = [path for path in DUMPS if "formats" in path.parts]
SEEDS = [seed for seed in seed_inputs() if not any(path.read_bytes().startswith(seed) for path in RECORDED)]
AGE = timedelta(hours=5)  # of a dump, so that the time of a capture differs from that of its file
WITHOUT_EFFECT = WITHOUT_FACT | {"CLEAR_ELR_RECORD"}  # which Kafka also writes for topics without eligible leader replicas
ASSUMED = ControllerKind("zookeeper")  # what a table has without any entry
PARTITIONS = "".join(f"\tTopic: t\tPartition: {number}\tLeader: 1\tReplicas: 1,2\tIsr: 1\n" for number in range(3))
# A short dump of each kind of entry that no recorded dump contains.
EXAMPLES = {
    "earliest": "t:0:5\nt:1:7\n",
    "kafka-get-offsets": "t:0:50\nt:1:70\n",
    "broker-list": "broker_id,rack,host,fenced\n1,a,h1,false\n2,b,h2,true\n",
    "brokers.json": json.dumps({"brokers": [{"id": 1, "rack": "a", "fenced": False}, {"id": 2, "rack": None, "fenced": True}]}),
    "admin-client": json.dumps(
        {
            "cluster_id": "63eIrtAWRcG4BFVcy6dPyA",
            "brokers": [{"id": 1, "host": "h1", "port": 9092, "rack": "a"}, {"id": 2, "rack": "b", "fenced": True}],
            "topics": [{"name": "u", "partitions": [{"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1]}]}],
        }
    ),
    "kafka-acls": "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)`: \n"
    " \t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)\n\t(principal=User:bob, host=*, operation=READ, permissionType=ALLOW) \n",
    "kafka-streams-groups": "GROUP TOPIC PARTITION OFFSET-LAG\npipeline t 0 3\npipeline t 1 4\n",
    "key-sample": "topic,key,records\nt,a,3\nt,b,4\n",
    "kafka-reassign-partitions": json.dumps(
        {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 1], "log_dirs": ["/d1", "any"]}]}
    ),
    "current": 'Current partition replica assignment\n\n{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],'
    '"log_dirs":["/d1","/d2"]}]}\n',
}


def lost_entries(name: str, data: bytes, context: Sequence[ParsedFile] = ()) -> Iterator[list[Parsed]]:
    """Yield the facts of each accepted entry that changes no row: neither alone, nor with those that precede it, nor with all others.

    Without an entry that a later one reverses, such as a topic that is deleted, the later one is rejected.
    """
    reading = read_dump(data)
    records = [parsed for parsed in reading.parsed if isinstance(parsed.fact, MetadataRecord)]
    # Any record shows that the cluster is a KRaft cluster.
    nothing_stated = [Parsed(0, None, records[-1].fact._replace(type="NO_OP_RECORD", fields={}))] if records else []
    files = [parsed for parsed in reading.parsed if isinstance(parsed.fact, MetadataFile)]  # follow their records
    facts_by_entry: dict[tuple[int, int], list[Parsed]] = defaultdict(list)
    for parsed in reading.parsed:
        if parsed.fact not in (None, ASSUMED) and parsed not in files and getattr(parsed.fact, "type", None) not in WITHOUT_EFFECT:
            facts_by_entry[parsed.line, id(parsed.entry)].append(parsed)
    stated = [parsed for facts in facts_by_entry.values() for parsed in facts]

    def rows_with(parsed: Sequence[Parsed], without: Collection[str] = ("input_file", "rejected_input")) -> Tables:
        complete = replace(reading, parsed=[*nothing_stated, *parsed, *files], rejected=[])
        tables = resolve_cluster([*context, ParsedFile(name, len(data), NOW + AGE, complete)])
        return {name: table for name, table in tables.items() if name not in without}

    empty, complete, end = rows_with([]), rows_with(stated, ["input_file"]), 0
    for facts in facts_by_entry.values():
        start, end = end, end + len(facts)
        is_lost = (
            rows_with(facts) == empty
            and rows_with(stated[:start]) == rows_with(stated[:end])
            and rows_with(stated[:start] + stated[end:], ["input_file"]) == complete
        )
        if is_lost:
            yield facts


def context_of(name: str) -> list[ParsedFile]:
    """Return a dump with partitions, which facts about partitions of other dumps need."""
    data = PARTITIONS.encode()
    return [ParsedFile("topics", len(data), NOW, read_dump(data))]


@pytest.mark.parametrize("path", RECORDED, ids=["/".join(path.parts[-2:]) for path in RECORDED])
def test_every_recorded_entry_reaches_a_table(path: Path) -> None:
    assert list(lost_entries(path.name, path.read_bytes())) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_entry_of_an_example_reaches_a_table(name: str) -> None:
    data = EXAMPLES[name].encode()
    assert read_dump(data).rejected == []
    assert list(lost_entries(name, data, context_of(name))) == []


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_every_entry_of_a_seed_of_the_fuzz_reaches_a_table(number: int) -> None:
    assert list(lost_entries("seed", SEEDS[number])) == []


def test_every_format_has_a_dump_in_these_tests() -> None:
    formats = {read_dump(data).format for data in [*seed_inputs(), *(text.encode() for text in EXAMPLES.values())]}
    assert formats >= {module.NAME for module in FORMATS}


def test_unknown_fields_are_rejected_by_name() -> None:
    tables = resolved(brokers="broker_id,rack,owner\n1,a,x\n", more='{"brokers":[{"id":2,"rack":"b"}],"topics":[],"racks":[{"id":"a"}]}')
    assert rejects(tables) == [
        ("brokers", 1, "unknown fields: owner"),
        ("more", 1, "unknown fields: racks of a document"),
    ]


def test_offsets_and_configs_without_their_partition_are_rejected() -> None:
    tables = resolved(
        offsets="t:0:5\n",
        configs="Dynamic configs for topic u are:\n  retention.ms=1 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1}\n",
    )
    assert rejects(tables) == [
        ("configs", 2, "no dump has topic u"),
        ("offsets", 1, "no dump has the partition's leader and ISR"),
    ]
    assert rows(tables, "input_file", "file", "entries", "accepted", "rejected") == [("configs", 1, 0, 1), ("offsets", 1, 0, 1)]
