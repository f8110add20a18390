"""Record tests/snapshots/formats/ again from real clusters: python -m tests.cluster.record_formats [NAME]...

The names are 4.3.1, 3.9.2, zookeeper and 4.3.1-settings. A small cluster of each version, with a separate controller: topics, configs on every
level, a reassignment under way, a killed broker. The cluster of 4.3.1-settings has a dynamic quorum (KIP-853), quotas, access control entries,
a credential and cordoned log dirs (KIP-1066). The files are the output of Kafka's tools and, in the same state, the metadata snapshot and log.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster import TOOLS, Cluster, ToolFailed, cluster, command
from tests.cluster.record import SNAPSHOTS, describe_when_stable, log_progress, mask_folders, recreate
from tests.cluster.zookeeper import zookeeper_cluster

FORMATS = SNAPSHOTS / "formats"
RACKS = {1: "rack-a", 2: "rack-b", 3: "rack-c", 4: None}
CONTROLLER = 9
PROPERTIES = {
    "metadata.max.idle.interval.ms": "0",  # no record without a cause
    "metadata.log.max.snapshot.interval.ms": "12000",
    "share.coordinator.state.topic.num.partitions": "2",
}
SETTINGS = "4.3.1-settings"
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS"}
TOPICS = {
    "orders": ("6", "3", {"min.insync.replicas": "2", "cleanup.policy": "compact,delete"}),
    "ledger": ("4", "3", {"min.insync.replicas": "3"}),
    "prices": ("3", "2", {"unclean.leader.election.enable": "true", "segment.bytes": "1048576"}),
    "single": ("5", "1", {}),
    "gone": ("2", "2", {"retention.ms": "1000"}),
}
MOVED = {
    "version": 1,
    "partitions": [
        {"topic": "single", "partition": 0, "replicas": [3, 4]},
        {"topic": "prices", "partition": 1, "replicas": [4, 1]},
    ],
}


def main(names: Sequence[str]) -> None:
    """Record the named versions, or all."""
    for name in names or ("4.3.1", "3.9.2", "zookeeper", SETTINGS):
        recreate(FORMATS / name)
        if name == SETTINGS:
            racks = {1: "rack-a", 2: "rack-b", 3: "rack-c"}
            with cluster(racks, properties=PROPERTIES | AUTHORIZER, log_dirs=2, dynamic_quorum=True) as kafka:
                record_settings(kafka, FORMATS / name)
        elif name == "zookeeper":
            with zookeeper_cluster({1: "rack-a", 2: "rack-b", 3: "rack-c"}) as kafka:
                record_zookeeper(kafka, FORMATS / name)
        else:
            with cluster(RACKS, version=name, controller=CONTROLLER, properties=PROPERTIES, log_dirs=2) as kafka:
                record_kraft(kafka, FORMATS / name)


def record_kraft(kafka: Cluster, folder: Path) -> None:
    """Use a cluster for a minute, kill a broker, and write the output of all tools."""
    create(kafka)
    alter = ("kafka-configs", "--alter", "--entity-type")
    kafka.tool(*alter, "brokers", "--entity-default", "--add-config", "min.insync.replicas=2,log.retention.ms=86400000")
    kafka.tool(*alter, "brokers", "--entity-name", "3", "--add-config", "log.cleaner.threads=2")
    kafka.tool("kafka-topics", "--delete", "--topic", "gone")
    time.sleep(12)
    kafka.tool(*alter, "topics", "--entity-name", "single", "--add-config", "retention.bytes=1000000")
    if kafka.version >= "4.2":
        record_share_group(kafka, folder)
    produce(kafka, "single", 3_000)
    record_reassignment(kafka, folder)
    kafka.kill(2)
    kafka.await_fenced(2)
    dumps = {
        "kafka-configs-topics": ("kafka-configs", "--describe", "--entity-type", "topics"),
        "kafka-configs-topic-all": ("kafka-configs", "--describe", "--all", "--entity-type", "topics", "--entity-name", "single"),
        "kafka-configs-brokers": ("kafka-configs", "--describe", "--entity-type", "brokers"),
        "kafka-configs-broker-all": ("kafka-configs", "--describe", "--all", "--entity-type", "brokers", "--entity-name", "3"),
        "kafka-metadata-quorum-status": ("kafka-metadata-quorum", "describe", "--status"),
        "kafka-metadata-quorum-replication": ("kafka-metadata-quorum", "describe", "--replication"),
        "kafka-features": ("kafka-features", "describe"),
        "kafka-broker-api-versions": ("kafka-broker-api-versions",),
    }
    for file, (tool, *arguments) in dumps.items():
        (folder / f"{file}.txt").write_text(mask_folders(kafka, kafka.tool(tool, *arguments)))
    (folder / "kafka-topics.txt").write_text(describe_when_stable(kafka))
    log = kafka.nodes[CONTROLLER].folder / "data1" / "__cluster_metadata-0"
    for file in [*sorted(log.glob("*.checkpoint"))[-2:], *log.glob("*.log")]:
        (folder / file.name).write_bytes(file.read_bytes())
        text = kafka_dump_log(kafka, file)
        (folder / f"kafka-dump-log-{file.name}.txt").write_text(mask_folders(kafka, text))
    after = describe_when_stable(kafka)
    if sorted(after.splitlines()) != sorted((folder / "kafka-topics.txt").read_text().splitlines()):
        raise ToolFailed("the cluster changed while it was recorded: record again")
    log_progress("recorded", folder.relative_to(SNAPSHOTS))


def create(kafka: Cluster) -> None:
    """Create the topics."""
    for name, (partitions, replication_factor, configs) in TOPICS.items():
        settings = [argument for key, value in configs.items() for argument in ("--config", f"{key}={value}")]
        placement = ("--partitions", partitions, "--replication-factor", replication_factor)
        kafka.tool("kafka-topics", "--create", "--topic", name, *placement, *settings)


def produce(kafka: Cluster, topic: str, records: int) -> None:
    """Send records of a kilobyte, so that a throttled reassignment takes long enough to be recorded."""
    java = command(kafka.version, "org.apache.kafka.tools.ConsoleProducer" if kafka.version >= "4" else "kafka.tools.ConsoleProducer")
    lines = "".join(f"{number:01000d}\n" for number in range(records))
    subprocess.run(
        [*java, "--bootstrap-server", kafka.bootstrap, "--topic", topic], input=lines, text=True, check=True, capture_output=True
    )


def record_reassignment(kafka: Cluster, folder: Path) -> None:
    """Generate a plan, start a heavily throttled reassignment, and list and verify it."""
    topics, plan = kafka.nodes[CONTROLLER].folder / "topics.json", kafka.nodes[CONTROLLER].folder / "plan.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "single"}, {"topic": "prices"}]}))
    plan.write_text(json.dumps(MOVED))
    tool = "kafka-reassign-partitions"
    dumps = {
        "generate": ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,3,4", "--disable-rack-aware"),
        "execute": ("--execute", "--reassignment-json-file", str(plan), "--throttle", "1000"),
        "list": ("--list",),
        "verify": ("--verify", "--preserve-throttles", "--reassignment-json-file", str(plan)),
    }
    for file, arguments in dumps.items():
        (folder / f"{tool}-{file}.txt").write_text(mask_folders(kafka, kafka.tool(tool, *arguments)))
    (folder / f"{tool}.json").write_text(json.dumps(MOVED) + "\n")


def record_share_group(kafka: Cluster, folder: Path) -> None:
    """Start a share group of one member, and write the output of kafka-share-groups."""
    run = command(kafka.version, "org.apache.kafka.tools.consumer.ConsoleShareConsumer")
    arguments = ["--bootstrap-server", kafka.bootstrap, "--topic", "orders", "--group", "share-desk"]
    consumer = subprocess.Popen([*run, *arguments], stdout=subprocess.DEVNULL)
    try:
        time.sleep(8)
        for part in ("offsets", "members", "state"):
            for file, options in ((part, ()), (f"{part}-verbose", ("--verbose",))):
                text = kafka.tool("kafka-share-groups", "--describe", "--all-groups", f"--{part}", *options)
                (folder / f"kafka-share-groups-{file}.txt").write_text(text)
    finally:
        consumer.kill()
        consumer.wait()


def kafka_dump_log(kafka: Cluster, file: Path) -> str:
    """Return the output of kafka-dump-log for a file of the metadata log."""
    main = TOOLS["kafka-dump-log"] if kafka.version >= "4" else "kafka.tools.DumpLogSegments"
    run = [*command(kafka.version, main), "--cluster-metadata-decoder", "--files", str(file)]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def record_settings(kafka: Cluster, folder: Path) -> None:
    """Set quotas, access control entries, a credential and cordoned log dirs, change some of them, and write the output of the tools."""
    for name, (partitions, replication_factor, _) in TOPICS.items():
        kafka.tool("kafka-topics", "--create", "--topic", name, "--partitions", partitions, "--replication-factor", replication_factor)
    produce(kafka, "single", 500)
    kafka.stop(2)
    with (kafka.nodes[2].folder / "server.properties").open("a") as properties:
        properties.write(f"cordoned.log.dirs={kafka.nodes[2].folder}/data1\n")
    kafka.start(2)
    kafka.await_in_sync()
    user, client = ("--entity-type", "users", "--entity-name", "alice"), ("--entity-type", "clients", "--entity-name", "app")
    settings = [
        (*user, *client, "--add-config", "consumer_byte_rate=1024,producer_byte_rate=2048"),
        (*user, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=unguessable]"),
        ("--entity-type", "users", "--entity-default", "--add-config", "request_percentage=50.5"),
        ("--entity-type", "clients", "--entity-default", "--add-config", "producer_byte_rate=4096"),
        (*client, "--add-config", "controller_mutation_rate=5"),
        (*client, "--delete-config", "controller_mutation_rate"),
        ("--entity-type", "ips", "--entity-name", "127.0.0.9", "--add-config", "connection_creation_rate=10"),
        ("--entity-type", "groups", "--entity-name", "desk", "--add-config", "consumer.session.timeout.ms=50000"),
        ("--entity-type", "client-metrics", "--entity-name", "all", "--add-config", "interval.ms=60000,metrics=*"),
        ("--entity-type", "brokers", "--entity-name", "3", "--add-config", "cordoned.log.dirs=*"),
    ]
    for arguments in settings:
        kafka.tool("kafka-configs", "--alter", *arguments)
    entries = [
        ("--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders", "--allow-host", "127.0.0.9"),
        ("--add", "--deny-principal", "User:bob", "--operation", "All", "--group", "desk", "--resource-pattern-type", "prefixed"),
        ("--add", "--allow-principal", "User:carol", "--operation", "Describe", "--cluster"),
        ("--remove", "--force", "--allow-principal", "User:carol", "--operation", "Describe", "--cluster"),
    ]
    for arguments in entries:
        kafka.tool("kafka-acls", *arguments)
    time.sleep(14)
    configs = ("kafka-configs", "--describe", "--entity-type")
    dumps = {
        **{f"kafka-configs-{kind}": (*configs, kind) for kind in ("brokers", "users", "clients", "ips", "groups", "client-metrics")},
        "kafka-configs-users-clients": (*configs, "users", "--entity-type", "clients"),
        "kafka-metadata-quorum-status": ("kafka-metadata-quorum", "describe", "--status"),
        "kafka-metadata-quorum-replication": ("kafka-metadata-quorum", "describe", "--replication"),
        "kafka-cluster": ("kafka-cluster", "list-endpoints", "--include-fenced-brokers"),
        "kafka-log-dirs": ("kafka-log-dirs", "--describe"),
        "kafka-get-offsets": ("kafka-get-offsets",),
        "kafka-get-offsets-earliest": ("kafka-get-offsets", "--time", "earliest"),
        "kafka-topics": ("kafka-topics", "--describe"),
    }
    for file, (tool, *arguments) in dumps.items():
        (folder / f"{file}.txt").write_text(mask_folders(kafka, kafka.tool(tool, *arguments)))
    log = kafka.nodes[1].folder / "data1" / "__cluster_metadata-0"
    for file in [*sorted(log.glob("*.checkpoint"))[-1:], *log.glob("*.log")]:
        (folder / file.name).write_bytes(file.read_bytes())
        (folder / f"kafka-dump-log-{file.name}.txt").write_text(mask_folders(kafka, kafka_dump_log(kafka, file)))
    log_progress("recorded", folder.relative_to(SNAPSHOTS))


def record_zookeeper(kafka: Cluster, folder: Path) -> None:
    """Write the znodes of ZooKeeper, one on a line, and the output of kafka-topics."""
    create(kafka)
    kafka.tool("kafka-configs", "--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "min.insync.replicas=2")
    kafka.kill(2)
    kafka.await_fenced(2)
    (folder / "kafka-topics.txt").write_text(describe_when_stable(kafka))
    server = re.search(r"zookeeper.connect=(\S+)", (kafka.nodes[1].folder / "server.properties").read_text())
    assert server
    shell = [*command(kafka.version, "org.apache.zookeeper.ZooKeeperMain"), "-server", server[1]]

    def run_in_shell(commands: Sequence[str]) -> str:
        lines = "".join(f"{command}\n" for command in (*commands, "quit"))
        return subprocess.run(shell, input=lines, capture_output=True, text=True, check=True).stdout

    roots = ("/brokers", "/config", "/controller", "/controller_epoch", "/cluster", "/admin")
    listed = run_in_shell([f"ls -R {root}" for root in roots])
    paths = sorted(set(re.findall(r"(?m)^(/\S+)$", listed)))
    output = run_in_shell([f"get {path}" for path in paths])
    answers = output.partition("type:None path:null\n")[2].partition("\nWATCHER::")[0].splitlines()
    znodes = [{"path": path, "data": None if data == "null" else data} for path, data in zip(paths, answers, strict=True)]
    (folder / "zookeeper.jsonl").write_text("".join(json.dumps(znode) + "\n" for znode in znodes))
    log_progress("recorded", folder.relative_to(SNAPSHOTS))


if __name__ == "__main__":
    main(sys.argv[1:])
