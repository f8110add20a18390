"""How long the text of kafka-topics takes to become rows, beside counting its lines and beside Spark reading the same bytes as text.

    python -m tests.benchmarks.ingest [clusters]

Each cluster (10, unless a number is given) has 70,000 partitions in 1,000 topics, about 10 MB. `wc -l` and `spark.read.text` to nowhere
are the least of three; the ingest is one run, of all files to all tables, to nowhere too.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jobs import ingest
from jobs.ingest.source import clusters
from jobs.session import session

TOPICS, PARTITIONS, BROKERS = 1_000, 70, 60


def main(asked: int) -> None:
    """Write the dumps, read them in each way, and print the times."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked):
            path = Path(folder, f"cluster-{number:03}", "topics.txt")
            path.parent.mkdir()
            path.write_text(text(number))
        found = clusters(folder)
        size = sum(file.size_bytes for cluster in found for file in cluster.files)
        lines = asked * TOPICS * (PARTITIONS + 1)
        spark = session()
        print(f"{asked} clusters, {lines:,} lines, {size / 1e6:,.0f} MB, {spark.sparkContext.defaultParallelism} cores")

        counted = least(lambda: subprocess.run(f"cat {folder}/*/* | wc -l", shell=True, check=True, stdout=subprocess.DEVNULL))
        print(f"{'wc -l':32}{counted:8.2f} s")
        as_text = least(lambda: spark.read.text(f"{folder}/*/*").write.format("noop").mode("overwrite").save())
        print(f"{'spark.read.text':32}{as_text:8.2f} s")
        whole = seconds(lambda: everything(folder))
        print(f"{'ingested into all tables':32}{whole:8.2f} s{whole / as_text:8.1f} times spark.read.text")


def everything(folder: str) -> None:
    """Ingest, each table to nowhere."""
    for table in ingest.read(session, folder, "2026-01-01"):
        table.write.format("noop").mode("overwrite").save()


def least(run: Callable[[], object]) -> float:
    """The least seconds of three runs."""
    return min(seconds(run) for _ in range(3))


def seconds(run: Callable[[], object]) -> float:
    """How long it runs."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def text(seed: int) -> str:
    """What kafka-topics would print of a large cluster."""
    chance = random.Random(seed)
    said = []
    for number in range(TOPICS):
        topic = f"domain-{number % 40}.team-{number % 7}.events-of-service-{number}"
        configs = "min.insync.replicas=2,retention.ms=604800000"
        topic_id = f"TopicId: {chance.getrandbits(88):022x}"
        said.append(f"Topic: {topic}\t{topic_id}\tPartitionCount: {PARTITIONS}\tReplicationFactor: 3\tConfigs: {configs}\n")
        for partition in range(PARTITIONS):
            brokers = chance.sample(range(BROKERS), 3)
            ids = ",".join(map(str, brokers))
            where = f"Leader: {brokers[0]}\tReplicas: {ids}\tIsr: {ids}"
            said.append(f"\tTopic: {topic}\tPartition: {partition}\t{where}\tElr: \tLastKnownElr: \n")
    return "".join(said)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
