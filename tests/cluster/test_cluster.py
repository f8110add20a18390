"""Failures in a live cluster of three brokers have the outcomes that Kafka documents."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_model.log.replication import effective_min_isr
from kafka_model.release import parse_release
from tests.cluster import SESSION_TIMEOUT_S, Cluster, ToolFailed, cluster, java
from tests.cluster.record_formats import kafka_dump_log

pytestmark = pytest.mark.kafka
State = dict[str, tuple[str, set[str], set[str]]]
RACKS = {1: "rack-a", 2: "rack-b", 3: "rack-c"}
# min.insync.replicas and replicas of each topic
TOPICS = {"strict": (3, "2:3:1,1:2:3"), "plain": (2, "2:3:1,1:2:3"), "solo": (1, "2,3"), "lone": (2, "3"), "two": (3, "3:1")}


@pytest.fixture(scope="module")
def running_kafka() -> Iterator[Cluster]:
    with cluster(RACKS) as kafka:
        for topic, (min_isr, assignment) in TOPICS.items():
            configured = ("--config", f"min.insync.replicas={min_isr}", "--replica-assignment", assignment)
            kafka.tool("kafka-topics", "--create", "--topic", topic, *configured)
        yield kafka


@pytest.fixture
def kafka(running_kafka: Cluster) -> Cluster:
    """The cluster with every broker up, every replica in sync, and every partition led by its preferred leader."""
    if down := running_kafka.nodes.keys() - running_kafka.processes.keys():
        running_kafka.start(*down)
        running_kafka.await_in_sync()
        running_kafka.tool("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")
    return running_kafka


def partitions(kafka: Cluster) -> State:
    """Leader, ISR and ELR of every partition, as a broker reports them."""
    line = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: \S+\tIsr: (\S*)\tElr: (\S*)\t")
    rows = line.findall(java(kafka.version, str(Path(__file__).with_name("Describe.java")), kafka.bootstrap, "strict", "plain", "solo"))
    return {f"{topic}-{number}": (leader, brokers(isr), brokers(elr)) for topic, number, leader, isr, elr in rows}


def refused(kafka: Cluster, *topics: str) -> dict[str, str]:
    """Return the topics whose partition 0 refuses a record with acks=all, and the error of each."""
    answers = java(kafka.version, str(Path(__file__).with_name("Produce.java")), kafka.bootstrap, *topics).split()
    outcomes = dict(zip(answers[::2], answers[1::2], strict=True))
    assert outcomes.keys() == set(topics)
    return {topic: outcome for topic, outcome in outcomes.items() if outcome != "accepted"}


def records(kafka: Cluster) -> Counter[str]:
    """Count the records of each type in the metadata log of a live controller, without no-op records."""
    controller = next(node for node in kafka.nodes.values() if node.id in kafka.processes and node.id != 2)
    (log,) = controller.folder.rglob("__cluster_metadata-0/00000000000000000000.log")
    counted = Counter(re.findall(r'"type":"(\w+)"', kafka_dump_log(kafka, log)))
    return counted - Counter({"NO_OP_RECORD": counted["NO_OP_RECORD"]})


def brokers(listed: str) -> set[str]:
    return set(listed.split(",")) - {""}


def test_the_next_in_sync_replica_replaces_a_killed_broker_which_stays_in_the_elr_below_min_isr(kafka: Cluster) -> None:
    everyone = {"1", "2", "3"}
    healthy: State = {f"{topic}-{n}": (leader, everyone, set()) for topic in ("strict", "plain") for n, leader in ((0, "2"), (1, "1"))}
    assert partitions(kafka) == healthy | {"solo-0": ("2", {"2"}, set()), "solo-1": ("3", {"3"}, set())}

    before, fenced_before = records(kafka), kafka.fenced()
    kafka.kill(2)
    kafka.await_fenced(2)
    # One record for each of the five partitions with the broker in the ISR, and one that fences it.
    assert records(kafka) - before == Counter(PARTITION_CHANGE_RECORD=5, BROKER_REGISTRATION_CHANGE_RECORD=1)
    left = {"1", "3"}
    assert partitions(kafka) == {
        "strict-0": ("3", left, {"2"}),
        "strict-1": ("1", left, {"2"}),
        "plain-0": ("3", left, set()),
        "plain-1": ("1", left, set()),
        "solo-0": ("none", set(), {"2"}),
        "solo-1": ("3", {"3"}, set()),
    }
    assert kafka.fenced() == [*fenced_before, 2]

    led = ("strict", "plain", "lone", "two")
    # Broker 2 is out of sync; the replicas of lone and two are all in sync, but fewer than min.insync.replicas.
    in_sync = {"strict": 2, "plain": 2, "lone": 1, "two": 2}
    required = {
        topic: effective_min_isr(min_isr, len(assignment.split(",")[0].split(":")), parse_release(kafka.version))
        for topic, (min_isr, assignment) in TOPICS.items()
    }
    refuses = {topic: "NotEnoughReplicasException" for topic in led if in_sync[topic] < required[topic]}
    assert refused(kafka, *led) == refuses == {"strict": "NotEnoughReplicasException"}

    # After its return it follows: leaders return only after a preferred election.
    kafka.start(2)
    kafka.await_in_sync()
    assert partitions(kafka)["strict-0"] == ("3", everyone, set())
    assert partitions(kafka)["solo-0"] == ("2", {"2"}, set())
    kafka.tool("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")
    assert partitions(kafka)["strict-0"] == ("2", everyone, set())


def test_a_failed_tool_raises_its_own_message(kafka: Cluster) -> None:
    with pytest.raises(ToolFailed, match="Topic 'plain' already exists"):
        kafka.tool("kafka-topics", "--create", "--topic", "plain")


def test_a_controlled_shutdown_is_recorded_before_the_broker_is_fenced(kafka: Cluster) -> None:
    before = records(kafka)
    in_sync = sum("2" in isr for _, isr, _ in partitions(kafka).values())
    kafka.stop(2)
    kafka.await_fenced(2)
    assert records(kafka) - before == Counter(PARTITION_CHANGE_RECORD=in_sync, BROKER_REGISTRATION_CHANGE_RECORD=2)


def test_without_a_quorum_no_leader_is_elected_and_no_isr_shrinks(kafka: Cluster) -> None:
    """Broker 2 is down and fenced. When broker 3 dies too, it stays leader and stays in every ISR."""
    kafka.kill(2)
    kafka.await_fenced(2)
    before = partitions(kafka)
    assert any(leader == "3" for leader, *_ in before.values())
    kafka.kill(3)
    time.sleep(SESSION_TIMEOUT_S + 3)  # a controller with a quorum would have fenced broker 3 by then
    assert partitions(kafka) == before


def test_no_process_or_folder_is_left_when_the_block_fails() -> None:
    with pytest.raises(ZeroDivisionError), cluster({1: None}) as kafka:  # noqa: PT012
        process, folder = kafka.processes[1], kafka.nodes[1].folder
        _ = 1 / 0
    assert process.poll() is not None
    assert not folder.exists()
