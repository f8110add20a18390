"""Real KRaft clusters on this machine, started from Kafka's published jars: brokers that tests may kill.

    with cluster({1: "rack-a", 2: "rack-b", 3: "rack-c"}) as kafka:
        kafka.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "6", "--replication-factor", "3")
        kafka.kill(2)
        print(kafka.tool("kafka-topics", "--describe"))

Every node is its own JVM with its log dirs in a temporary folder and listens on free ports of 127.0.0.1 only. Each node is stopped by its
process id when the block ends, also after an error. Tools have the names of Kafka's scripts.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from jobs.spark import jars

VERSION = "4.3.1"
SESSION_TIMEOUT_S = 6  # the time after which a controller fences a silent broker
_BEFORE_4 = {"kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand"}
_TIME = r"\d{4}-\d\d-\d\d [\d:.]+"  # start of a line in a node's log
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
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
}


class ToolFailed(Exception):
    """A command-line tool of Kafka, or a node, failed."""


@dataclass(frozen=True, slots=True)
class Node:
    """A broker, a controller, both in one, or ZooKeeper: its command, port and folder."""

    id: int
    port: int | None  # None if it is not a broker
    folder: Path
    run: Sequence[str]  # class and arguments
    serving: str  # the text in its log when it is up
    secure_port: int | None = None  # port with TLS and SASL

    @property
    def log(self) -> str:
        """The node's log since its first start."""
        file = self.folder / "node.log"
        return file.read_text(errors="replace") if file.exists() else ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: its nodes by id, and the processes of the nodes that are up."""

    version: str
    nodes: Mapping[int, Node]
    processes: dict[int, subprocess.Popen[bytes]]

    @property
    def bootstrap(self) -> str:
        """The addresses of the brokers that are up."""
        up = [node.port for node in self.nodes.values() if node.port and node.id in self.processes]
        return ",".join(f"127.0.0.1:{port}" for port in up)

    @property
    def secure_bootstrap(self) -> str:
        """The addresses of the brokers that are up, with TLS and SASL."""
        up = [node.secure_port for node in self.nodes.values() if node.secure_port and node.id in self.processes]
        return ",".join(f"127.0.0.1:{port}" for port in up)

    def tool(self, name: str, *args: str, check: bool = True) -> str:
        """Run one of Kafka's command-line tools on this cluster and return its stdout."""
        # The options of kafka-cluster follow its subcommand; all other tools accept them first.
        subcommand = 1 if name == "kafka-cluster" else 0
        arguments = [*args[:subcommand], "--bootstrap-server", self.bootstrap, *args[subcommand:]]
        return java(self.version, _BEFORE_4.get(name, TOOLS[name]) if self.version < "4" else TOOLS[name], *arguments, check=check)

    def kill(self, *brokers: int) -> None:
        """Kill brokers with SIGKILL. The controller notices when their sessions time out."""
        for broker in brokers:
            self.processes[broker].kill()
        for broker in brokers:
            self.processes.pop(broker).wait()

    def stop(self, broker: int) -> None:
        """Stop a broker with SIGTERM: a controlled shutdown that hands over its leaders."""
        self.processes[broker].terminate()
        self.processes.pop(broker).wait()

    def start(self, *brokers: int) -> None:
        """Start nodes that are down, and wait until they are up."""
        log_sizes = {broker: len(self.nodes[broker].log) for broker in brokers}
        for broker in brokers:
            node = self.nodes[broker]
            run = [*command(self.version, node.run[0], heap="320m", level="info"), *node.run[1:]]
            with (node.folder / "node.log").open("ab") as log:
                self.processes[broker] = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        for broker in brokers:
            _until(partial(self._serves, broker, log_sizes[broker]), f"node {broker} starting", seconds=90)

    def _serves(self, broker: int, since: int) -> bool:
        log = self.nodes[broker].log[since:]
        if self.processes[broker].poll() is not None:
            raise ToolFailed(f"node {broker} ended while starting:\n{log[-3000:]}")
        return self.nodes[broker].serving in log

    def fenced(self) -> list[int]:
        """The fenced brokers in the order of fencing; a broker appears each time it was fenced."""
        return [broker for broker, up in self._transitions() if not up]

    def await_fenced(self, *brokers: int) -> None:
        """Wait until the controller has fenced brokers that were killed or stopped: they lead nothing and are in no ISR."""
        _until(lambda: not any(dict(self._transitions())[broker] for broker in brokers), f"brokers {brokers} being fenced", seconds=60)

    def _transitions(self) -> list[tuple[int, bool]]:
        """Each change of a broker between up (True) and fenced (False), from the logs of all nodes."""
        # Only the active controller fences brokers, and logs it. A controlled shutdown may be logged twice.
        # A ZooKeeper-based controller that takes over logs only the brokers that are left.
        end = "(?: at epoch| because its session has timed out| to shut down has been granted|$)"
        lost = re.compile(rf"(?m)^({_TIME}) .*(?:Fencing broker|The request from broker|Broker failure callback for) ([\d,]+){end}")
        left = re.compile(rf"(?m)^({_TIME}) .*Currently active brokers in the cluster: \w*Set\(([\d, ]*)\)")
        brokers = {node.id for node in self.nodes.values() if node.port}
        events = []
        for node in self.nodes.values():
            events += [(time, broker, False) for time, ids in lost.findall(node.log) for broker in _ids(ids)]
            events += [(time, broker, False) for time, ids in left.findall(node.log) for broker in brokers - set(_ids(ids))]
            events += [(time, node.id, True) for time in re.findall(rf"(?m)^({_TIME}) .*{re.escape(node.serving)}", node.log)]
        state = dict.fromkeys(self.nodes, False)
        transitions = []
        for _, broker, up in sorted(events):
            if state[broker] != up:
                transitions.append((broker, up))
            state[broker] = up
        return transitions

    def await_in_sync(self) -> None:
        """Wait until every replica of every partition is in its ISR."""
        behind = partial(self.tool, "kafka-topics", "--describe", "--under-replicated-partitions")
        _until(lambda: not behind().strip(), "replicas catching up", seconds=90)


@contextmanager
def cluster(
    racks: Mapping[int, str | None],
    *,
    version: str = VERSION,
    properties: Mapping[str, str] | None = None,
    controller: int | None = None,
    log_dirs: int = 1,
    cluster_id: str = "YXVkaXQtdGVzdC1jbHVzdA",
    secured: Mapping[str, str] | None = None,
    dynamic_quorum: bool = False,
) -> Iterator[Cluster]:
    """Start brokers with these ids and racks. They are also the controllers, unless `controller` names a separate node.

    With `secured`, the properties of TLS and SASL, each broker has a SASL_SSL listener too. With `dynamic_quorum` (KIP-853), the brokers are
    the controllers, and the metadata log contains the voters.
    """
    voters = [controller] if controller is not None else list(racks)
    with temporary_folder() as folder:
        ids = [*racks, *([controller] if controller is not None else [])]
        ports = iter(free_ports(len(racks) * 2 + len(voters)))
        quorum = {voter: next(ports) for voter in voters}
        nodes = [broker(id, next(ports) if id in racks else None, folder, "Kafka Server started") for id in ids]
        if secured is not None:
            nodes = [replace(node, secure_port=next(ports) if node.port else None) for node in nodes]
        for node in nodes:
            roles = {"broker": node.port, "controller": quorum.get(node.id)}
            listeners = {"PLAINTEXT": node.port, "SASL_SSL": node.secure_port, "CONTROLLER": quorum.get(node.id)}
            kraft = {
                "process.roles": ",".join(role for role, port in roles.items() if port),
                "node.id": str(node.id),
                **_quorum_properties(quorum, dynamic=dynamic_quorum),
                "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items() if port),
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
                "broker.session.timeout.ms": str(SESSION_TIMEOUT_S * 1000),
                "broker.heartbeat.interval.ms": "500",
            }
            configure(node, racks.get(node.id), len(racks), log_dirs, kraft | dict(properties or {}) | dict(secured or {}))
        if dynamic_quorum:
            _format_voters(version, nodes, quorum, cluster_id)
        else:
            _format(version, nodes, log_dirs, cluster_id)
        with running(version, nodes) as kafka:
            yield kafka


@contextmanager
def running(version: str, nodes: Sequence[Node]) -> Iterator[Cluster]:
    """Start all nodes at once, and kill them when the block ends."""
    kafka = Cluster(version, {node.id: node for node in nodes}, {})
    try:
        kafka.start(*kafka.nodes)
        yield kafka
    finally:
        kafka.kill(*kafka.processes)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for the files of a cluster, deleted when the block ends."""
    with tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def broker(id: int, port: int | None, folder: Path, serving: str) -> Node:
    """A node that runs Kafka's server."""
    return Node(id, port, folder / f"node-{id}", ("kafka.Kafka", f"{folder}/node-{id}/server.properties"), serving)


def configure(node: Node, rack: str | None, brokers: int, log_dirs: int, properties: Mapping[str, str]) -> None:
    """Write the node's server.properties: the defaults of all test clusters, overridden by `properties`."""
    settings = (
        {
            "log.dirs": ",".join(str(one) for one in _log_dirs(node, log_dirs)),
            "auto.create.topics.enable": "false",
            # A leader moves only when a broker dies or a test requests an election.
            "auto.leader.rebalance.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "8",
            "offsets.topic.replication.factor": str(min(3, brokers)),
        }
        | ({"broker.rack": rack} if rack and node.port else {})
        | dict(properties)
    )
    node.folder.mkdir()
    (node.folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def java(version: str, main: str, *args: str, check: bool = True) -> str:
    """Run a class of Kafka, or a Java source file that uses Kafka's classes, and return its stdout."""
    done = subprocess.run([*command(version, main), *args], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ToolFailed(f"{main} {' '.join(args)}\n{done.stdout}{done.stderr}")
    return done.stdout


def command(version: str, main: str, *, heap: str = "256m", level: str = "warn") -> list[str]:
    """The command line that runs a class of Kafka, or a Java source file that uses Kafka's classes."""
    # The published jars contain no logging binding. Without one, the nodes do not even log that they have started.
    fetched = [jars.fetch(f"org.apache.kafka:kafka_2.13:{version}", transitive=True)]
    fetched += [jars.fetch(one) for one in (f"org.apache.kafka:kafka-tools:{version}", "org.slf4j:slf4j-simple:1.7.36")]
    settings = (f"defaultLogLevel={level}", "showDateTime=true", "dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS")
    logging = [f"-Dorg.slf4j.simpleLogger.{setting}" for setting in settings]
    return [jars.java(), f"-Xmx{heap}", *LEAN, *logging, "-cp", ":".join(f"{folder[0].parent}/*" for folder in fetched), main]


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 without a listener."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _log_dirs(node: Node, count: int) -> list[Path]:
    return [node.folder / f"data{number}" for number in range(1, count + 1)]


def _format(version: str, nodes: list[Node], log_dirs: int, cluster_id: str) -> None:
    # One run of StorageTool serves all nodes, because its output differs only in node.id and directory.id.
    first, *others = nodes
    java(version, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(first.folder / "server.properties"))
    for node in others:
        for source, target in zip(_log_dirs(first, log_dirs), _log_dirs(node, log_dirs), strict=True):
            shutil.copytree(source, target)
            directory = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            meta = (target / "meta.properties").read_text()
            meta = re.sub(r"(?m)^node\.id=.*", f"node.id={node.id}", meta)
            (target / "meta.properties").write_text(re.sub(r"(?m)^directory\.id=.*", f"directory.id={directory}", meta))


def _quorum_properties(quorum: Mapping[int, int], *, dynamic: bool) -> dict[str, str]:
    if dynamic:
        return {"controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in quorum.values())}
    return {"controller.quorum.voters": ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in quorum.items())}


def _format_voters(version: str, nodes: list[Node], quorum: Mapping[int, int], cluster_id: str) -> None:
    directory_ids = {voter: base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=") for voter in quorum}
    controllers = ",".join(f"{voter}@127.0.0.1:{port}:{directory_ids[voter]}" for voter, port in quorum.items())
    for node in nodes:
        configuration = str(node.folder / "server.properties")
        java(version, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", configuration, "--initial-controllers", controllers)


def _ids(listed: str) -> list[int]:
    return [int(id) for id in re.findall(r"\d+", listed)]


def _until(condition: Callable[[], bool], what: str, *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise ToolFailed(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)
