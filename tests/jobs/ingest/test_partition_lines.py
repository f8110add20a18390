"""Recorded and randomly damaged texts give the same tables whether they are parsed into columns or entry by entry."""

from __future__ import annotations

import gzip
import random
import zlib
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from jobs.cli import BUNDLED
from jobs.ingest import partition_lines
from jobs.ingest.dump import Dump, Parsed
from jobs.ingest.formats import kafka_topics
from jobs.ingest.reading import Reading, is_partition_text, read_chunks, read_dump
from tests.jobs.ingest.dumps import resolved_bytes

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
NEVER = 1 << 62
CLUSTERS = sorted({path.parent for folder in (BUNDLED, *SNAPSHOTS.glob("*/")) for path in folder.rglob("*") if path.is_file()})
CONFIGS = ("", "min.insync.replicas=1", "cleanup.policy=compact,delete,min.insync.replicas=2")
# Replacements for characters of a line: each is parsed, rejected or left to the parser in another way.
ODDITIES = (
    ", ", " ", "\t", "  ", "\t\t", " " * 17, "-1", "none", "N/A", " N/A", "", "2147483647", "2147483648", "007", "99999999999999999999", "é", "\ud800",
    "Elr: \tLastKnownElr: ", "MarkedForDeletion: true", "\tMarkedForDeletion: true", "Adding Replicas: 9\tRemoving Replicas: 1", "\r", "\u2028", "\0",
    "1,1", ",", ":", "Isr:", "Elr:", "..", "x" * 250, "Leader:", "\n", "\r\n", "\n\n", "Topic: ",
)  # fmt: skip


def read_in_chunks(data: bytes) -> Reading:
    """Read into columns, in chunks of a few lines each if the text can be read in chunks."""
    if not is_partition_text(data):
        return read_dump(data, columnar_bytes=0)
    cuts = [
        0,
        *(position + 1 for position in range(len(data)) if data[position : position + 1] == b"\n" and zlib.crc32(data[:position]) % 3 == 0),
        len(data),
    ]
    return read_chunks([partition_lines.read(data[start:end]) for start, end in pairwise(cuts)], data)


def assert_same_tables(files: dict[str, bytes]) -> None:
    from_entries = resolved_bytes(files, partial(read_dump, columnar_bytes=NEVER))
    for read in (partial(read_dump, columnar_bytes=0), read_in_chunks):
        from_columns = resolved_bytes(files, read)
        for name, table in from_entries.items():
            assert from_columns[name].to_pylist() == table.to_pylist(), name


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda path: "/".join(path.parts[-2:]))
def test_recorded_clusters_give_the_same_tables_as_columns(cluster: Path) -> None:
    def data(path: Path) -> bytes:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()

    assert_same_tables({path.name: data(path) for path in sorted(cluster.iterdir()) if path.is_file()})


def test_recorded_texts_are_read_by_the_compiled_loop() -> None:
    texts = [path for folder in (BUNDLED, SNAPSHOTS) for path in folder.rglob("kafka-topics.txt") if "\r" not in path.read_text()]
    assert len(texts) > 4
    for path in texts:
        part = partition_lines.read(path.read_bytes())
        assert len(part.lines) == path.read_text().count("\tPartition: ")
        assert len(part.other_lines) == path.read_text().count("PartitionCount: ")


def described(rng: random.Random, version: int) -> list[str]:
    """Return the output of some version of kafka-topics for a few topics."""
    lines = []
    for topic in rng.sample(["t", "orders", "a.b-c_d", "__consumer_offsets", "n" * 249], rng.randint(1, 3)):
        count = rng.randint(1, 4)
        space = " " if version else ""
        head = [f"Topic:{space}{topic}", *(["TopicId: jgmHsgngRdOpX8NLV1MQDg"] if version > 1 else [])]
        printed = rng.choice([count, count, count + 1])
        head += [f"PartitionCount:{space}{printed}", f"ReplicationFactor:{space}2", f"Configs:{space}{rng.choice(CONFIGS)}"]
        if rng.random() < 0.9:
            lines.append("\t".join(head))
        for partition in range(count):
            replicas = rng.sample(range(1, 6), rng.randint(1, 3))
            ids, isr = ",".join(map(str, replicas)), ",".join(map(str, rng.sample(replicas, rng.randint(0, len(replicas)))))
            line = f"\tTopic: {topic}\tPartition: {partition}\tLeader: {rng.choice([*map(str, replicas), 'none', '-1'])}\tReplicas: {ids}\tIsr: {isr}"
            if version > 2 and rng.random() < 0.2:
                line += f"\tAdding Replicas: {rng.choice(['', '9', '8,9'])}\tRemoving Replicas: {rng.choice(['', '1'])}"
            if version > 3:
                line += f"\tElr: {rng.choice(['', 'N/A', '3', '3,1'])}\tLastKnownElr: {rng.choice(['', 'N/A', '1'])}"
            lines.append(line)
    return lines


def damaged(rng: random.Random, text: str) -> bytes:
    """Return the text with a few characters replaced, repeated lines, and perhaps cut off."""
    lines = text.split("\n")
    for _ in range(rng.choice([0, 0, 1, 3])):
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    text = ("\r\n" if rng.random() < 0.1 else "\n").join(lines)
    for _ in range(rng.choice([0, 1, 1, 2, 6])):
        position = rng.randrange(len(text) + 1)
        text = text[:position] + rng.choice(ODDITIES) + text[position + rng.choice([0, 0, 1, 2, 5]) :]
    if rng.random() < 0.2:
        text = text[: rng.randrange(len(text) + 1)]
    mark = rng.choice(["", "", "", "\ufeff"])
    return (mark + text).encode("utf-16" if rng.random() < 0.05 else "utf-8", "surrogatepass")


def other_dumps(rng: random.Random) -> dict[str, bytes]:
    """Return other dumps of the cluster with the same partitions."""

    def log_dirs() -> str:
        log = '{{"partition":"{}-{}","size":{},"offsetLag":{},"isFuture":{}}}'
        all_logs = [
            (topic, partition, future)
            for topic in ("t", "orders", "gone", "a.b-c_d")
            for partition in range(4)
            for future in ("true", "false")
        ]
        brokers = []
        for broker in rng.sample(range(1, 6), rng.randint(1, 3)):
            dirs = []
            for name in rng.sample(["/d", "/e"], rng.randint(1, 2)):
                logs = rng.sample(all_logs, rng.randint(0, 6))
                log_list = ",".join(
                    log.format(topic, partition, rng.randrange(9), rng.choice([0, 3, -1]), future) for topic, partition, future in logs
                )
                error = rng.choice(["null", "null", '"E"'])
                dirs.append(f'{{"partitions":[{log_list}],"error":{error},"logDir":"{name}"}}')
            brokers.append(f'{{"broker":{broker},"logDirs":[{",".join(dirs)}]}}')
        text = f'Querying brokers for log directories information\n{{"version":1,"brokers":[{",".join(brokers)}]}}\n'
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            position = rng.randrange(len(text))
            text = (
                text[:position]
                + rng.choice(["1", "-", '"', "null", "\n", "\\u0041", "é", ".0", "}", "{", ",", "99999999999", ""])
                + text[position + 1 :]
            )
        return text

    def ends() -> str:
        lines = [f"{topic}:{partition}:{rng.randrange(99)}" for topic in ("t", "orders", "gone") for partition in range(3)]
        for _ in range(rng.choice([0, 0, 1, 2])):
            lines.insert(
                0,
                rng.choice(
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
        return rng.choice(["\n", "\n", "\r\n"]).join([*lines, ""])

    moves = '{{"topic":"t","partition":{},"replicas":[{}],"log_dirs":["any"]}}'.format(rng.randrange(4), rng.choice(["1,2", "2"]))
    dumps = {
        "log-dirs": log_dirs(),
        "more-log-dirs": log_dirs(),
        "offsets": ends(),
        "more-offsets": ends(),
        "groups": f"GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\ng t 0 1 {rng.randrange(9)} 0 - - -\n",
        "brokers": "broker_id,rack\n1,a\n2,b\n",
        "plan": f'Current partition replica assignment\n{{"version":1,"partitions":[{moves}]}}\n',
        "more": "\n".join(described(rng, rng.randrange(6))) + "\n",
        "znodes": '{"path":"/brokers/topics/t/partitions/0/state","data":{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}}\n'
        '{"path":"/brokers/topics/t","data":{"version":1,"partitions":{"0":[1,2]}}}\n',
    }
    return {name: dumps[name].encode() for name in rng.sample(sorted(dumps), rng.randint(0, 4))}


def fuzzed(seed: int) -> dict[str, bytes]:
    rng = random.Random(seed)
    texts = {
        f"topics-{number}": damaged(rng, "\n".join(described(rng, rng.randrange(6))) + "\n") for number in range(rng.choice([1, 1, 2]))
    }
    files = list({**texts, **other_dumps(rng)}.items())
    rng.shuffle(files)
    return dict(files)


@pytest.mark.parametrize("hundred", range(15))
def test_damaged_texts_give_the_same_tables_as_columns(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        try:
            assert_same_tables(fuzzed(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {fuzzed(seed)}") from error


def test_damaged_texts_use_the_compiled_loop_and_the_parser() -> None:
    """Otherwise the comparison above would compare the parser with itself."""
    columnar = parsed = rejected = logs = ends = 0
    for seed in range(300):
        for data in fuzzed(seed).values():
            reading = read_dump(data, columnar_bytes=0)
            logs += len(reading.logs) if reading.logs else 0
            ends += len(reading.ends) if reading.ends else 0
            if reading.lines is not None:
                columnar, parsed = columnar + len(reading.lines), parsed + len(reading.parsed)
                rejected += len(reading.rejected)
    assert min(columnar, parsed, rejected, logs, ends) > 100
    assert columnar > parsed


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
def test_line_of_kafka_is_read_by_the_compiled_loop(line: str, end: str) -> None:
    data = (line + end).encode()
    entries, columns = kafka_topics.parse_columns(Dump(data))
    lines = columns["lines"]
    assert ([lines.parsed_row(row) for row in range(len(lines))], entries) == (list(kafka_topics.parse(Dump(data))), [])


@pytest.mark.parametrize(
    "line",
    [
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1, 2\tIsr: 2,1",  # read by the parser
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tMarkedForDeletion: true",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,1\tIsr: 1",  # rejected
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: \tIsr: 1",
        "\tTopic: t\tPartition: 9999999999\tLeader: 1\tReplicas: 1\tIsr: 1",
        "\tTopic: ..\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr:Elr: \tLastKnownElr: ",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: ",
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: ",
    ],
)
def test_unusual_line_is_left_to_the_parser(line: str) -> None:
    part = partition_lines.read(f"{line}\n".encode())
    assert (len(part.lines), part.other_lines) == (0, [(1, line.encode())])


def test_last_line_without_elr_columns_is_cut_off() -> None:
    whole = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
    data = (whole.format(0) + whole.format(1)).split("\tElr: \tLastKnownElr: \n\tTopic: t\tPartition: 1")
    text = (whole.format(0) + "\tTopic: t\tPartition: 1" + data[1]).split("\tElr:")[
        0
    ] + "\tElr: \tLastKnownElr: \n\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1"
    entries, columns = kafka_topics.parse_columns(Dump(text.encode()))
    assert len(columns["lines"]) == 1
    assert [(entry.line, isinstance(entry, Parsed)) for entry in entries] == [(2, False)]
