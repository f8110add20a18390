"""Real KRaft clusters on this machine, out of Kafka's published jars: brokers that tests may kill.

    with cluster({1: "rack-a", 2: "rack-b", 3: "rack-c"}) as kafka:
        kafka.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "6", "--replication-factor", "3")
        kafka.kill(2)
        print(kafka.tool("kafka-topics", "--describe"))

Every node is a JVM of its own with its log dirs in a temporary folder, listening on free ports of 127.0.0.1 only. Each is stopped by
its own process id when the block ends, however it ends. Tools go by the names of Kafka's scripts.
"""

from __future__ import annotations

import base64
import re
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobs import jars

VERSION = "4.3.1"
_TIME = r"\d{4}-\d\d-\d\d [\d:.]+"  # as the nodes' logs begin
LEAN = ("-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
}


class ToolFailed(Exception):
    """A command-line tool of Kafka's, or a node, ended otherwise than it should have."""


@dataclass(frozen=True, slots=True)
class Node:
    """A broker, a controller or both: where it listens and where it keeps its files."""

    id: int
    port: int | None  # None: only a controller
    folder: Path

    @property
    def log(self) -> str:
        """What the node has said since its first start."""
        file = self.folder / "node.log"
        return file.read_text(errors="replace") if file.exists() else ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: the nodes by their ids, and the processes of those that are up."""

    version: str
    nodes: Mapping[int, Node]
    processes: dict[int, subprocess.Popen[bytes]]

    @property
    def bootstrap(self) -> str:
        """The addresses of the brokers that are up."""
        up = [node.port for node in self.nodes.values() if node.port and node.id in self.processes]
        return ",".join(f"127.0.0.1:{port}" for port in up)

    def tool(self, name: str, *args: str, check: bool = True) -> str:
        """What one of Kafka's command-line tools says on stdout about this cluster."""
        # kafka-cluster's options belong to its subcommands, every other tool's come first or anywhere.
        subcommand = 1 if name == "kafka-cluster" else 0
        asked = [*args[:subcommand], "--bootstrap-server", self.bootstrap, *args[subcommand:]]
        return java(self.version, TOOLS[name], *asked, check=check)

    def kill(self, *brokers: int) -> None:
        """SIGKILL: the brokers are gone at once; the controller finds out when their sessions run out."""
        for broker in brokers:
            self.processes[broker].kill()
        for broker in brokers:
            self.processes.pop(broker).wait()

    def stop(self, broker: int) -> None:
        """SIGTERM: the broker hands over what it leads and leaves (a controlled shutdown)."""
        self.processes[broker].terminate()
        self.processes.pop(broker).wait()

    def start(self, *brokers: int) -> None:
        """Start nodes that are down, and wait until they serve."""
        said = {broker: len(self.nodes[broker].log) for broker in brokers}
        for broker in brokers:
            folder = self.nodes[broker].folder
            run = [*command(self.version, "kafka.Kafka", heap="320m", level="info"), str(folder / "server.properties")]
            with (folder / "node.log").open("ab") as log:
                self.processes[broker] = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        for broker in brokers:
            _until(partial(self._serves, broker, said[broker]), f"node {broker} starting", seconds=90)

    def _serves(self, broker: int, since: int) -> bool:
        log = self.nodes[broker].log[since:]
        if self.processes[broker].poll() is not None:
            raise ToolFailed(f"node {broker} ended while starting:\n{log[-3000:]}")
        return "Kafka Server started" in log

    def fenced(self) -> list[int]:
        """The brokers that the controller has taken out, in the order in which it did, each as often as it was."""
        return [broker for _, broker in self._fencings()]

    def await_fenced(self, *brokers: int) -> None:
        """Wait until the controller has taken out brokers that were killed or stopped: nothing is led by them, no ISR has them."""
        started = {broker: re.findall(rf"(?m)^({_TIME}) .*Kafka Server started", self.nodes[broker].log)[-1] for broker in brokers}
        _until(
            lambda: all(any(broker == one and time > started[broker] for time, one in self._fencings()) for broker in brokers),
            f"brokers {brokers} being fenced",
            seconds=60,
        )

    def _fencings(self) -> list[tuple[str, int]]:
        # Only the active controller decides, and says so in its log; one that shuts down by itself is let go, not fenced.
        told = re.compile(rf"(?m)^({_TIME}) .*(?:Fencing broker |The request from broker )(\d+) (?:at epoch|to shut down has been granted)")
        return sorted((time, int(broker)) for node in self.nodes.values() for time, broker in told.findall(node.log))

    def await_in_sync(self) -> None:
        """Wait until every replica of every partition is in its ISR."""
        _until(lambda: not self.tool("kafka-topics", "--describe", "--under-replicated-partitions").strip(), "replicas catching up", seconds=90)


@contextmanager
def cluster(
    racks: Mapping[int, str | None],
    *,
    version: str = VERSION,
    properties: Mapping[str, str] | None = None,
    controller: int | None = None,
    log_dirs: int = 1,
    cluster_id: str = "YXVkaXQtdGVzdC1jbHVzdA",
) -> Iterator[Cluster]:
    """Brokers with these ids and racks, which are the controllers too unless a node of its own is named for that."""
    voters = [controller] if controller is not None else list(racks)
    with ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True)))
        ids = [*racks, *([controller] if controller is not None else [])]
        ports = iter(_free_ports(len(racks) + len(voters)))
        quorum = {voter: next(ports) for voter in voters}
        nodes = {id: Node(id, next(ports) if id in racks else None, folder / f"node-{id}") for id in ids}
        for node in nodes.values():
            _configure(node, racks.get(node.id), quorum, len(racks), log_dirs, properties or {})
        _format(version, list(nodes.values()), log_dirs, cluster_id)
        kafka = Cluster(version, nodes, {})
        ending.callback(lambda: kafka.kill(*kafka.processes))
        kafka.start(*ids)
        yield kafka


def java(version: str, main: str, *args: str, check: bool = True) -> str:
    """What a class of Kafka's, or a source file of ours over them, says on stdout."""
    done = subprocess.run([*command(version, main), *args], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ToolFailed(f"{main} {' '.join(args)}\n{done.stdout}{done.stderr}")
    return done.stdout


def command(version: str, main: str, *, heap: str = "256m", level: str = "warn") -> list[str]:
    """The command line that runs a class of Kafka's, or a source file of ours over them."""
    # The published brokers come without a logging binding: without one they say nothing, not even that they have started.
    found = [jars.fetch(f"org.apache.kafka:kafka_2.13:{version}", transitive=True)]
    found += [jars.fetch(one) for one in (f"org.apache.kafka:kafka-tools:{version}", "org.slf4j:slf4j-simple:1.7.36")]
    logging = [f"-Dorg.slf4j.simpleLogger.{key}" for key in (f"defaultLogLevel={level}", "showDateTime=true", "dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS")]
    return [jars.java(), f"-Xmx{heap}", *LEAN, *logging, "-cp", ":".join(f"{folder[0].parent}/*" for folder in found), main]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _configure(node: Node, rack: str | None, quorum: Mapping[int, int], brokers: int, log_dirs: int, properties: Mapping[str, str]) -> None:
    roles = {"broker": node.port, "controller": quorum.get(node.id)}
    listeners = {"PLAINTEXT": node.port, "CONTROLLER": quorum.get(node.id)}
    settings = {
        "process.roles": ",".join(role for role, port in roles.items() if port),
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in quorum.items()),
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items() if port),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": ",".join(str(one) for one in _log_dirs(node, log_dirs)),
        "auto.create.topics.enable": "false",
        # A leader moves only when a broker dies or somebody asks for it.
        "auto.leader.rebalance.enable": "false",
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "8",
        "offsets.topic.replication.factor": str(min(3, brokers)),
    } | ({"broker.rack": rack} if rack and node.port else {}) | dict(properties)
    node.folder.mkdir()
    (node.folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def _log_dirs(node: Node, count: int) -> list[Path]:
    return [node.folder / f"data{number}" for number in range(1, count + 1)]


def _format(version: str, nodes: list[Node], log_dirs: int, cluster_id: str) -> None:
    # One run of StorageTool serves all nodes: what it writes differs in the node's id and the directory's alone.
    first, *others = nodes
    java(version, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(first.folder / "server.properties"))
    for node in others:
        for made, mine in zip(_log_dirs(first, log_dirs), _log_dirs(node, log_dirs), strict=True):
            shutil.copytree(made, mine)
            directory = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            meta = (mine / "meta.properties").read_text()
            meta = re.sub(r"(?m)^node\.id=.*", f"node.id={node.id}", meta)
            (mine / "meta.properties").write_text(re.sub(r"(?m)^directory\.id=.*", f"directory.id={directory}", meta))


def _until(true: Callable[[], bool], what: str, *, seconds: float) -> None:
    last = time.monotonic() + seconds
    while not true():
        if time.monotonic() > last:
            raise ToolFailed(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)
