"""What a broker's death does to a partition: the state machine, the elections and the ISR rules, composed for one broker after the other.

**ZooKeeper's controller** (KafkaController.onBrokerFailure, Kafka 2.0.0 to 3.9.2), for a broker b that dies, `live_after` without it:

1. If the leader is not live: OfflinePartition, and the offline election: the first replica of the assignment that is live and in the ISR.
   If there is one it leads, the ISR keeps its live members, OnlinePartition. If there is none and unclean election is on, the first live
   replica leads, and is the ISR alone. If there is none at all, leader and ISR stay as they are for the moment.
2. OfflineReplica, if b is in the ISR still: b is leader no more (there is none then), and leaves the ISR, unless it is the last member,
   which stays.

**KRaft's controller** (ReplicationControlManager, Kafka 4.1 to 4.3), for a broker b that is fenced: if b is in
the ISR, it leaves, by the rules of `partition_change`. In short, for one death:

1. isr' = isr without b. With ELR: if isr' has min(min.insync.replicas, replicas) members or more, the ELR is cleared, else b joins it.
   Without ELR: if isr' is empty, the ISR stays as it is.
2. The leader stays if it is not b. Else the first replica of the assignment that is live and in isr'. Else, with an empty isr' (ELR on),
   the first that is live and in the ELR: it becomes the ISR. Else, if unclean election is on, the first live replica: it becomes the ISR,
   the ELR and the last known leader are cleared. Else none.
3. With ELR, a leader lost without another is noted as the last known leader, if none is noted yet; a new leader clears the note.

A controlled shutdown is to KRaft what a death is. ZooKeeper's controller first holds the controlled-shutdown election for partitions of
two or more replicas that b leads (the first replica that is live, in the ISR and not b; the ISR loses b), or takes b out of the ISR where
it follows; then b is gone, as above.

Brokers that die together are taken one by one in the order given: the later ones still count as live until their turn, as they do to the
controller.

    >>> orders = Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2, 3))
    >>> fail(orders, 1, {2, 3}, controller="zookeeper", elr=False, unclean=False).leader
    2
    >>> both = outcome(orders, [1, 2], {1, 2, 3}, controller="zookeeper", elr=False, unclean=False)
    >>> both.partition.leader, both.partition.isr, both.election.value
    (3, (3,), 'offline')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from kafka_model.election import partition_change
from kafka_model.election.leader_and_isr import controlled_shutdown_election, leave_isr, offline_election
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState, Transition

__all__ = ["Controller", "Election", "Outcome", "Partition", "come_back", "fail", "fail_in_order", "outcome", "shut_down", "state"]

Controller = Literal["zookeeper", "kraft"]


class Election(Enum):
    """The election that was held."""

    NONE = "none"
    OFFLINE = "offline"
    UNCLEAN = "unclean"  # the leader was not in sync: records may be lost
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    LAST_KNOWN_LEADER = "last-known-leader"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a partition, by which election (the last, if several) and which transitions of its state, in order."""

    partition: Partition
    election: Election = Election.NONE
    transitions: tuple[Transition, ...] = ()


def state(partition: Partition, live: Collection[int]) -> PartitionState:
    """Online if the leader is live: a dump may still name one that is not."""
    return PartitionState.ONLINE if partition.leader in live else PartitionState.OFFLINE


def fail(partition: Partition, broker: int, live_after: Collection[int], *, controller: Controller, elr: bool, unclean: bool) -> Partition:
    """The partition after one broker was killed."""
    return _killed(partition, broker, live_after, controller=controller, elr=elr, unclean=unclean).partition


def shut_down(
    partition: Partition, broker: int, live_after: Collection[int], *, controller: Controller, elr: bool, unclean: bool
) -> Partition:
    """The partition after one broker was stopped in order."""
    return _stopped(partition, broker, live_after, controller=controller, elr=elr, unclean=unclean).partition


def fail_in_order(
    partition: Partition, brokers: Iterable[int], live: Collection[int], *, controller: Controller, elr: bool, unclean: bool
) -> Partition:
    """The partition after these brokers were killed, in this order; `live` are those that live before."""
    return outcome(partition, brokers, live, controller=controller, elr=elr, unclean=unclean).partition


def outcome(
    partition: Partition,
    brokers: Iterable[int],
    live: Collection[int],
    *,
    controller: Controller,
    elr: bool,
    unclean: bool,
    controlled_shutdown: bool = False,
) -> Outcome:
    """What becomes of a partition when these brokers are killed (or stopped in order), one after the other; `live` are those that live
    before.
    """
    lost = _stopped if controlled_shutdown else _killed
    came = Outcome(partition)
    left = set(live)
    for broker in brokers:
        left.discard(broker)
        step = lost(came.partition, broker, left, controller=controller, elr=elr, unclean=unclean)
        election = came.election if step.election is Election.NONE else step.election
        came = Outcome(step.partition, election, came.transitions + step.transitions)
    return came


def come_back(
    partition: Partition, broker: int, live_after: Collection[int], *, controller: Controller, elr: bool, unclean: bool, clean_stop: bool
) -> Outcome:
    """What the return of a broker does: without a leader, an election is held anew. Who joins the ISR is the leader's to say, later.

    With ELR, a broker that was not stopped in order first leaves ISR and ELR, since it may have lost what it had. The last known leader
    leads only once both are empty: that may be the moment at which another comes back.
    """
    if controller == "zookeeper":
        return Outcome(partition) if partition.leader in live_after else _offline_elected(partition, live_after, unclean=unclean)
    election = partition_change.Election.UNCLEAN if unclean else partition_change.Election.ONLINE
    after = partition
    trusted = {*partition.isr, *partition.elr}
    if elr and not clean_stop and broker in trusted:
        trusted.remove(broker)
        kept = [replica for replica in partition.isr if replica != broker]
        others = [replica for replica in live_after if replica != broker]
        after = partition_change.change(after, isr=kept, acceptable=others, elr=elr, election=election, unclean_shutdown=[broker])
    if after.leader is None:
        after = partition_change.change(after, isr=after.isr, acceptable=live_after, elr=elr, election=election)
    if partition.leader is not None:
        return Outcome(after)
    if after.leader is None:
        return Outcome(after, Election.OFFLINE, ((PartitionState.OFFLINE, PartitionState.OFFLINE),))
    if after.leader in trusted:
        held = Election.OFFLINE
    else:
        held = Election.LAST_KNOWN_LEADER if (after.leader,) == partition.last_known_elr else Election.UNCLEAN
    return Outcome(after, held, ((PartitionState.OFFLINE, PartitionState.ONLINE),))


def _killed(partition: Partition, broker: int, live: Collection[int], *, controller: Controller, elr: bool, unclean: bool) -> Outcome:
    if controller == "kraft":
        return _fenced(partition, broker, live, elr=elr, unclean=unclean)
    led = Outcome(partition) if partition.leader in live else _offline_elected(partition, live, unclean=unclean)
    return Outcome(leave_isr(led.partition, broker), led.election, led.transitions)


def _offline_elected(partition: Partition, live: Collection[int], *, unclean: bool) -> Outcome:
    """Without a live leader, the partition goes offline, and online again if the offline election finds one."""
    offline = (PartitionState.OFFLINE if partition.leader is None else PartitionState.ONLINE, PartitionState.OFFLINE)
    led = offline_election(partition, live, unclean=unclean)
    if led is None:
        return Outcome(partition, Election.OFFLINE, (offline,))
    election = Election.OFFLINE if led.leader in partition.isr else Election.UNCLEAN
    return Outcome(led, election, (offline, (PartitionState.OFFLINE, PartitionState.ONLINE)))


def _stopped(partition: Partition, broker: int, live: Collection[int], *, controller: Controller, elr: bool, unclean: bool) -> Outcome:
    if controller == "kraft":
        return _fenced(partition, broker, live, elr=elr, unclean=unclean)
    handed = Outcome(partition)
    if len(partition.replicas) > 1 and partition.leader == broker:
        led = controlled_shutdown_election(partition, {*live, broker}, {broker})
        if led is not None:
            handed = Outcome(led, Election.CONTROLLED_SHUTDOWN, ((PartitionState.ONLINE, PartitionState.ONLINE),))
    elif len(partition.replicas) > 1:
        handed = Outcome(leave_isr(partition, broker))
    gone = _killed(handed.partition, broker, live, controller=controller, elr=elr, unclean=unclean)
    election = handed.election if gone.election is Election.NONE else gone.election
    return Outcome(gone.partition, election, handed.transitions + gone.transitions)


def _fenced(partition: Partition, broker: int, live: Collection[int], *, elr: bool, unclean: bool) -> Outcome:
    if broker not in partition.isr:
        return Outcome(partition)
    after = partition_change.change(
        partition,
        isr=[replica for replica in partition.isr if replica != broker],
        acceptable=live,
        elr=elr,
        election=partition_change.Election.UNCLEAN if unclean else partition_change.Election.ONLINE,
    )
    if partition.leader is not None and after.leader == partition.leader:
        return Outcome(after)
    before = PartitionState.OFFLINE if partition.leader is None else PartitionState.ONLINE
    offline = (before, PartitionState.OFFLINE)
    if after.leader is None:
        return Outcome(after, Election.OFFLINE, (offline,))
    clean = after.leader in {*partition.isr, *partition.elr}
    return Outcome(after, Election.OFFLINE if clean else Election.UNCLEAN, (offline, (PartitionState.OFFLINE, PartitionState.ONLINE)))
