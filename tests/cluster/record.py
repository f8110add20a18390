"""Record jobs/bundled/ and tests/snapshots/ from real clusters: python -m tests.cluster.record [orders-eu | payments-us | six | stock-ap]...

Two clusters are recorded on two nights: topics are created, the records of a first day are produced and read (night-before/), then those of
a second day (jobs/bundled/). In payments-us, a broker is killed before the second dump. A ZooKeeper-based cluster has one dump (zookeeper/).
Then brokers are killed, one scenario after another (killed/). Every .txt is the output of one of Kafka's tools, with the temporary log dirs
replaced by /var/lib/kafka.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from jobs.cli import BUNDLED
from tests.cluster import Cluster, ToolFailed, cluster
from tests.cluster.stories import STORIES, Nights, Story, Topic
from tests.cluster.workload import Sent, Workload, workload
from tests.cluster.zookeeper import zookeeper_cluster

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
DUMPS = {
    "kafka-topics": ("kafka-topics", "--describe"),
    "kafka-log-dirs": ("kafka-log-dirs", "--describe"),
    "kafka-consumer-groups": ("kafka-consumer-groups", "--describe", "--all-groups"),
    "kafka-consumer-groups-members": ("kafka-consumer-groups", "--describe", "--all-groups", "--members", "--verbose"),
    "kafka-consumer-groups-state": ("kafka-consumer-groups", "--describe", "--all-groups", "--state"),
    "kafka-broker-api-versions": ("kafka-broker-api-versions",),
    "kafka-get-offsets": ("kafka-get-offsets",),
}
KRAFT_DUMPS = {
    "kafka-cluster": ("kafka-cluster", "list-endpoints", "--include-fenced-brokers"),
    "kafka-features": ("kafka-features", "describe"),
    "kafka-metadata-quorum": ("kafka-metadata-quorum", "describe", "--status"),
}


def main(names: Sequence[str], snapshots: Path = SNAPSHOTS, bundled: Path = BUNDLED) -> None:
    """Record the named clusters, or all."""
    for name in names or STORIES:
        story = STORIES[name]
        with start_cluster(story) as kafka:
            log_progress(name, "is up")
            create(kafka, story.topics)
            if story.nights is not None:
                with workload(kafka) as applications:
                    nights = (snapshots / "night-before", bundled) if len(story.nights.days) == 2 else (snapshots / "zookeeper",)
                    dump_nights(kafka, story.nights, applications, [night / name for night in nights])
                restore(kafka, story.racks)
            for old in (snapshots / "killed").glob(f"{name}-*"):
                shutil.rmtree(old)
            for title, steps in story.scenarios.items():
                record_scenario(kafka, story.racks, snapshots / "killed" / f"{name}-{title}", steps)
                restore(kafka, story.racks)


def start_cluster(story: Story) -> AbstractContextManager[Cluster]:
    """Start the cluster of the story, without topics."""
    if story.zookeeper:
        return zookeeper_cluster(story.racks)
    return cluster(story.racks, controller=story.controller, log_dirs=story.log_dirs, cluster_id=story.cluster_id)


def create(kafka: Cluster, topics: Sequence[Topic]) -> None:
    """Create the topics."""
    for topic in topics:
        configs = {"min.insync.replicas": str(topic.min_insync_replicas)} | dict(topic.configs or {})
        automatic = ["--partitions", str(topic.partitions), "--replication-factor", str(topic.replication_factor)]
        placement = ["--replica-assignment", topic.assignment] if topic.assignment else automatic
        settings = [argument for key, value in configs.items() for argument in ("--config", f"{key}={value}")]
        kafka.tool("kafka-topics", "--create", "--topic", topic.name, *placement, *settings)


def dump_nights(kafka: Cluster, nights: Nights, applications: Workload, folders: Sequence[Path]) -> None:
    """Produce and dump each day. Before the second day's dump, pause some groups and kill the lost broker, if any."""
    applications.send(nights.days[0])
    applications.join(nights.groups)
    reads = [argument for topic in nights.empty_reads for argument in ("--topic", topic)]
    kafka.tool("kafka-consumer-groups", "--group", nights.empty, "--reset-offsets", "--to-latest", "--execute", *reads)
    dump(kafka, nights, folders[0], nights.days[0])
    for folder, day in zip(folders[1:], nights.days[1:], strict=True):
        for group in nights.groups:
            if group.paused:
                applications.pause(group)
        applications.send(day)
        if nights.lost is not None:
            kafka.kill(nights.lost)
            kafka.await_fenced(nights.lost)
        applications.settle()
        dump(kafka, nights, folder, day)


def dump(kafka: Cluster, nights: Nights, folder: Path, sent: Sequence[Sent]) -> None:
    """Write the files that an operator would save of the cluster."""
    recreate(folder)
    for file, (tool, *arguments) in (DUMPS | (KRAFT_DUMPS if kafka.version >= "4" else {})).items():
        (folder / f"{file}.txt").write_text(mask_folders(kafka, kafka.tool(tool, *arguments)))
    capacities = [
        {"brokerId": str(broker), "capacity": {"DISK": disk, "CPU": "100", "NW_IN": "10000", "NW_OUT": "10000"}}
        for broker, disk in nights.capacity.items()
    ]
    (folder / "capacity.json").write_text(json.dumps({"brokerCapacities": capacities}, indent=2) + "\n")
    lines = ["topic,key,partition,records,size_bytes"]
    for row in sent:
        partition = "" if row.partition is None else row.partition
        lines.append(f"{row.topic},{csv_field(row.key)},{partition},{row.records},{row.size_bytes}")
    (folder / "key-sample.csv").write_text("\n".join(lines) + "\n")
    log_progress("dumped", folder.parent.name, folder.name)


def record_scenario(kafka: Cluster, racks: Mapping[int, str], folder: Path, steps: Sequence[str]) -> None:
    """Run the steps of a scenario, and write the output of kafka-topics before and after each step."""
    recreate(folder)
    (folder / "0-before.txt").write_text(describe_when_stable(kafka))
    steps_done = []
    for number, step in enumerate(steps, start=1):
        verb, *words = step.split()
        brokers = [int(word) for word in words]
        fenced = len(kafka.fenced())
        actions: Mapping[str, Callable[..., None]] = {"kill": kafka.kill, "stop": kafka.stop, "start": kafka.start}
        actions[verb](*brokers)
        if verb != "start":
            kafka.await_fenced(*brokers)
        newly_fenced = kafka.fenced()[fenced:]
        if set(newly_fenced) != (set(brokers) if verb != "start" else set()):
            raise ToolFailed(f"{folder.name}: at step {step} the controller fenced {newly_fenced}: the machine is too busy, record again")
        # Without a live broker, kafka-topics cannot answer.
        file = f"{number}-{step.replace(' ', '-')}.txt" if kafka.bootstrap else None
        if file:
            (folder / file).write_text(describe_when_stable(kafka))
        steps_done.append(json.dumps({"step": verb, "brokers": brokers, "file": file, "fenced": newly_fenced}))
    head = json.dumps({"kafka": kafka.version, "racks": racks})
    (folder / "scenario.json").write_text(head[:-1] + ', "steps": [\n  ' + ",\n  ".join(steps_done) + "\n]}\n")
    log_progress("recorded", folder.name)


def restore(kafka: Cluster, racks: Mapping[int, str]) -> None:
    """Restore the cluster: all brokers up, all replicas in sync, the preferred leaders elected."""
    kafka.start(*[broker for broker in racks if broker not in kafka.processes])
    kafka.await_in_sync()
    kafka.tool("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")


def describe_when_stable(kafka: Cluster) -> str:
    """Return the output of kafka-topics, once three successive outputs are equal."""
    outputs = [kafka.tool("kafka-topics", "--describe")]
    while len(outputs) < 3 or len({tuple(sorted(output.splitlines())) for output in outputs[-3:]}) > 1:
        time.sleep(0.3)
        outputs.append(kafka.tool("kafka-topics", "--describe"))
    return outputs[-1]


def recreate(folder: Path) -> None:
    """Delete the folder if it exists, and create it again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def csv_field(key: str | None) -> str:
    """Return a key as a CSV field: an empty field for no key, quotes for the empty key."""
    if key is None:
        return ""
    return f'"{key.replace(chr(34), chr(34) * 2)}"' if not key or set(key) & set(',"\n') else key


def mask_folders(kafka: Cluster, output: str) -> str:
    """Return a tool's output with /var/lib/kafka in place of the nodes' temporary folders."""
    for node in kafka.nodes.values():
        output = output.replace(str(node.folder), "/var/lib/kafka")
    return output


def log_progress(*words: object) -> None:
    """Print a line on the progress of the recording."""
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
