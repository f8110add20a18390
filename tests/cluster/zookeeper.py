"""ZooKeeper-based clusters. Kafka 3.9 is the last version with such a controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.cluster import Cluster, Node, broker, configure, free_ports, running, temporary_folder

VERSION = "3.9.2"


@contextmanager
def zookeeper_cluster(racks: Mapping[int, str | None], *, version: str = VERSION) -> Iterator[Cluster]:
    """Start brokers with these ids and racks, one of them the controller, and a ZooKeeper as node 0."""
    with temporary_folder() as folder:
        port, *ports = free_ports(1 + len(racks))
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        zookeeper = Node(0, None, folder / "zookeeper", (main, str(port), f"{folder}/zookeeper/data", "500"), "binding to port")
        zookeeper.folder.mkdir()
        brokers = [broker(id, port, folder, f"[KafkaServer id={id}] started") for id, port in zip(racks, ports, strict=True)]
        for node in brokers:
            settings = {
                "broker.id": str(node.id),
                "listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
                "zookeeper.connect": f"127.0.0.1:{port}",
                "zookeeper.session.timeout.ms": "6000",
            }
            configure(node, racks[node.id], len(racks), 1, settings)
        with running(version, [zookeeper, *brokers]) as kafka:
            yield kafka
