"""The columns that a large text becomes are the rows that its lines become: on every recorded cluster, and on texts that chance spoils."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.cli import BUNDLED
from jobs.ingest import partition_lines
from jobs.ingest.dump import Dump, Told
from jobs.ingest.formats import kafka_topics
from jobs.ingest.merge import Merged, ReadFile, merge_files
from jobs.ingest.reading import Reading, is_of_partitions, read_dump, read_parts
from jobs.schema import BY_NAME

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
NOW = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
NEVER = 1 << 62
CLUSTERS = sorted({path.parent for folder in (BUNDLED, *SNAPSHOTS.glob("*/")) for path in folder.rglob("*") if path.is_file()})
CONFIGS = ("", "min.insync.replicas=1", "cleanup.policy=compact,delete,min.insync.replicas=2")
# What takes the place of a bit of a line: each is understood, refused or odd in another way.
ODDITIES = (
    ", ", " ", "\t", "  ", "\t\t", " " * 17, "-1", "none", "N/A", " N/A", "", "2147483647", "2147483648", "007", "99999999999999999999", "é", "\ud800",
    "Elr: \tLastKnownElr: ", "MarkedForDeletion: true", "\tMarkedForDeletion: true", "Adding Replicas: 9\tRemoving Replicas: 1", "\r", "\u2028", "\0",
    "1,1", ",", ":", "Isr:", "Elr:", "..", "x" * 250, "Leader:", "\n", "\r\n", "\n\n", "Topic: ",
)  # fmt: skip


def tables(merged: Merged) -> dict[str, list[tuple[Any, ...]]]:
    """Every table's rows, in their order, as Arrow has them."""
    found = {}
    for name in sorted({*merged.rows, *merged.columns}):
        fields = list(BY_NAME[name].schema)[2:]
        columns = (
            merged.columns[name].columns if name in merged.columns else list(zip(*merged.rows[name], strict=True)) or [()] * len(fields)
        )
        arrays = [
            column if isinstance(column, pa.ChunkedArray) else pa.array(column, field.type)
            for column, field in zip(columns, fields, strict=True)
        ]
        found[name] = list(zip(*(array.to_pylist() for array in arrays), strict=True))
    return found


def merged(files: dict[str, bytes], read: Callable[[bytes], Reading]) -> dict[str, list[tuple[Any, ...]]]:
    return tables(
        merge_files(
            ReadFile(name, len(data), NOW + timedelta(seconds=number), read(data)) for number, (name, data) in enumerate(files.items())
        )
    )


def in_parts(data: bytes) -> Reading:
    """Read as columns, in parts of some lines each if that can be."""
    if not is_of_partitions(data):
        return read_dump(data, many_bytes=0)
    cuts = [0, *(at + 1 for at in range(len(data)) if data[at : at + 1] == b"\n" and zlib.crc32(data[:at]) % 3 == 0), len(data)]
    return read_parts([partition_lines.read(data[start:end]) for start, end in pairwise(cuts)], data)


def assert_alike(files: dict[str, bytes]) -> None:
    by_rows = merged(files, partial(read_dump, many_bytes=NEVER))
    for read in (partial(read_dump, many_bytes=0), in_parts):
        by_columns = merged(files, read)
        for name, rows in by_rows.items():
            assert by_columns[name] == rows, name


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda path: "/".join(path.parts[-2:]))
def test_recorded_clusters_become_the_same_tables(cluster: Path) -> None:
    def data(path: Path) -> bytes:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()

    assert_alike({path.name: data(path) for path in sorted(cluster.iterdir()) if path.is_file()})


def test_the_texts_of_the_recorded_clusters_are_taken_whole() -> None:
    texts = [path for folder in (BUNDLED, SNAPSHOTS) for path in folder.rglob("kafka-topics.txt") if "\r" not in path.read_text()]
    assert len(texts) > 4
    for path in texts:
        part = partition_lines.read(path.read_bytes())
        assert len(part.lines) == path.read_text().count("\tPartition: ")
        assert len(part.others) == path.read_text().count("PartitionCount: ")


def described(chance: random.Random, version: int) -> list[str]:
    """What kafka-topics of some version prints of a few topics."""
    lines = []
    for topic in chance.sample(["t", "orders", "a.b-c_d", "__consumer_offsets", "n" * 249], chance.randint(1, 3)):
        count = chance.randint(1, 4)
        space = " " if version else ""
        head = [f"Topic:{space}{topic}", *(["TopicId: jgmHsgngRdOpX8NLV1MQDg"] if version > 1 else [])]
        told = chance.choice([count, count, count + 1])
        head += [f"PartitionCount:{space}{told}", f"ReplicationFactor:{space}2", f"Configs:{space}{chance.choice(CONFIGS)}"]
        if chance.random() < 0.9:
            lines.append("\t".join(head))
        for partition in range(count):
            replicas = chance.sample(range(1, 6), chance.randint(1, 3))
            ids, isr = ",".join(map(str, replicas)), ",".join(map(str, chance.sample(replicas, chance.randint(0, len(replicas)))))
            line = f"\tTopic: {topic}\tPartition: {partition}\tLeader: {chance.choice([*map(str, replicas), 'none', '-1'])}\tReplicas: {ids}\tIsr: {isr}"
            if version > 2 and chance.random() < 0.2:
                line += f"\tAdding Replicas: {chance.choice(['', '9', '8,9'])}\tRemoving Replicas: {chance.choice(['', '1'])}"
            if version > 3:
                line += f"\tElr: {chance.choice(['', 'N/A', '3', '3,1'])}\tLastKnownElr: {chance.choice(['', 'N/A', '1'])}"
            lines.append(line)
    return lines


def spoiled(chance: random.Random, text: str) -> bytes:
    """The text with a few bits in others' place, lines told again, and perhaps cut off."""
    lines = text.split("\n")
    for _ in range(chance.choice([0, 0, 1, 3])):
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    text = ("\r\n" if chance.random() < 0.1 else "\n").join(lines)
    for _ in range(chance.choice([0, 1, 1, 2, 6])):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(ODDITIES) + text[at + chance.choice([0, 0, 1, 2, 5]) :]
    if chance.random() < 0.2:
        text = text[: chance.randrange(len(text) + 1)]
    mark = chance.choice(["", "", "", "\ufeff"])
    return (mark + text).encode("utf-16" if chance.random() < 0.05 else "utf-8", "surrogatepass")


def others(chance: random.Random) -> dict[str, bytes]:
    """Other dumps of the cluster, which tell of the same partitions."""

    def log_dirs() -> str:
        log = '{{"partition":"{}-{}","size":{},"offsetLag":{},"isFuture":{}}}'
        all_logs = [(topic, id, future) for topic in ("t", "orders", "gone", "a.b-c_d") for id in range(4) for future in ("true", "false")]
        brokers = []
        for broker in chance.sample(range(1, 6), chance.randint(1, 3)):
            dirs = []
            for name in chance.sample(["/d", "/e"], chance.randint(1, 2)):
                logs = chance.sample(all_logs, chance.randint(0, 6))
                said = ",".join(log.format(topic, id, chance.randrange(9), chance.choice([0, 3, -1]), future) for topic, id, future in logs)
                error = chance.choice(["null", "null", '"E"'])
                dirs.append(f'{{"partitions":[{said}],"error":{error},"logDir":"{name}"}}')
            brokers.append(f'{{"broker":{broker},"logDirs":[{",".join(dirs)}]}}')
        text = f'Querying brokers for log directories information\n{{"version":1,"brokers":[{",".join(brokers)}]}}\n'
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            at = chance.randrange(len(text))
            text = (
                text[:at]
                + chance.choice(["1", "-", '"', "null", "\n", "\\u0041", "é", ".0", "}", "{", ",", "99999999999", ""])
                + text[at + 1 :]
            )
        return text

    def ends() -> str:
        lines = [f"{topic}:{partition}:{chance.randrange(99)}" for topic in ("t", "orders", "gone") for partition in range(3)]
        for _ in range(chance.choice([0, 0, 1, 2])):
            lines.insert(
                0,
                chance.choice(
                    [
                        lines[-1],
                        "t:9:",
                        "t:0000000001:5",
                        "a b:1:2",
                        ".:0:1",
                        "t:3:99999999999999999999",
                        "",
                        " ",
                        "t:4:5 ",
                        "é:1:1",
                        "t:5:6\x1c",
                    ]
                ),
            )
        return chance.choice(["\n", "\n", "\r\n"]).join([*lines, ""])

    moves = '{{"topic":"t","partition":{},"replicas":[{}],"log_dirs":["any"]}}'.format(chance.randrange(4), chance.choice(["1,2", "2"]))
    known = {
        "log-dirs": log_dirs(),
        "more-log-dirs": log_dirs(),
        "offsets": ends(),
        "more-offsets": ends(),
        "groups": f"GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\ng t 0 1 {chance.randrange(9)} 0 - - -\n",
        "brokers": "broker_id,rack\n1,a\n2,b\n",
        "plan": f'Current partition replica assignment\n{{"version":1,"partitions":[{moves}]}}\n',
        "more": "\n".join(described(chance, chance.randrange(6))) + "\n",
        "znodes": '{"path":"/brokers/topics/t/partitions/0/state","data":{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}}\n'
        '{"path":"/brokers/topics/t","data":{"version":1,"partitions":{"0":[1,2]}}}\n',
    }
    return {name: known[name].encode() for name in chance.sample(sorted(known), chance.randint(0, 4))}


def fuzzed(seed: int) -> dict[str, bytes]:
    chance = random.Random(seed)
    texts = {
        f"topics-{number}": spoiled(chance, "\n".join(described(chance, chance.randrange(6))) + "\n")
        for number in range(chance.choice([1, 1, 2]))
    }
    files = list({**texts, **others(chance)}.items())
    chance.shuffle(files)
    return dict(files)


@pytest.mark.parametrize("hundred", range(15))
def test_spoiled_texts_become_the_same_tables(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        try:
            assert_alike(fuzzed(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {fuzzed(seed)}") from error


def test_spoiled_texts_try_both_ways() -> None:
    """Else the comparison would be of a thing with itself."""
    taken = told = refused = logs = ends = 0
    for seed in range(300):
        for data in fuzzed(seed).values():
            reading = read_dump(data, many_bytes=0)
            logs += len(reading.logs) if reading.logs else 0
            ends += len(reading.ends) if reading.ends else 0
            if reading.lines is not None:
                taken, told, refused = taken + len(reading.lines), told + len(reading.told), refused + len(reading.rejected)
    assert min(taken, told, refused, logs, ends) > 100
    assert taken > told


@pytest.mark.parametrize(
    "line",
    [
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 2,1",
        "Topic: t Partition: 0 Leader: -1 Replicas: 1,2 Isr: ",
        "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1\tIsr: \tElr: N/A\tLastKnownElr: N/A",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tAdding Replicas: 2\tRemoving Replicas: \tElr: 3,1\tLastKnownElr: 2",
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_what_kafka_prints_is_taken(line: str, end: str) -> None:
    data = (line + end).encode()
    entries, lines = kafka_topics.parse_columns([partition_lines.read(data)], data)
    assert ([lines.told_alone(row) for row in range(len(lines))], entries) == (list(kafka_topics.parse(Dump(data))), [])


@pytest.mark.parametrize(
    "line",
    [
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1, 2\tIsr: 2,1",  # read, by the slower way
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tMarkedForDeletion: true",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,1\tIsr: 1",  # refused
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: \tIsr: 1",
        "\tTopic: t\tPartition: 9999999999\tLeader: 1\tReplicas: 1\tIsr: 1",
        "\tTopic: ..\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr:Elr: \tLastKnownElr: ",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: ",
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: ",
    ],
)
def test_what_is_odd_is_left_to_the_parser_of_lines(line: str) -> None:
    part = partition_lines.read(f"{line}\n".encode())
    assert (len(part.lines), part.others) == (0, [(1, line.encode())])


def test_a_last_line_that_is_cut_off_is_known_by_the_line_before_it() -> None:
    whole = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
    data = (whole.format(0) + whole.format(1)).split("\tElr: \tLastKnownElr: \n\tTopic: t\tPartition: 1")
    text = (whole.format(0) + "\tTopic: t\tPartition: 1" + data[1]).split("\tElr:")[
        0
    ] + "\tElr: \tLastKnownElr: \n\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1"
    entries, lines = kafka_topics.parse_columns([partition_lines.read(text.encode())], text.encode())
    assert len(lines) == 1
    assert [(entry.line, isinstance(entry, Told)) for entry in entries] == [(2, False)]
