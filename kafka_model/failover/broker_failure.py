"""What the death or return of brokers does to a partition: elections, ISR and ELR, one broker after the other.

**The ZooKeeper controller** (KafkaController.onBrokerFailure, Kafka 2.0.0 to 3.9.2), when broker b dies:

1. If the leader is not live, the partition becomes OfflinePartition and the offline election takes place. The first replica of the
   assignment that is live and in the ISR becomes leader, the ISR keeps its live members, and the partition becomes OnlinePartition. If
   there is none and unclean election is on, the first live replica becomes leader and the only member of the ISR. If there is none
   either, leader and ISR stay unchanged at this step.
2. The replica of b becomes OfflineReplica if b is still in the ISR: if b is leader, the partition has no leader; b leaves the ISR unless
   it is the last member.

**The KRaft controller** (ReplicationControlManager, Kafka 3.5 to 4.4), when broker b is fenced: if b is in the ISR, it leaves by the
rules of `election.partition_change`. In short, for one death:

1. isr' is the ISR without b. With ELR: if isr' has at least min(min.insync.replicas, replicas) members, the ELR is cleared; otherwise b
   joins the ELR. Without ELR: if isr' is empty, the ISR stays unchanged.
2. The leader stays if it is not b. Otherwise the next leader is the first replica of the assignment that is live and in isr'. If isr' is
   empty (with ELR), it is the first that is live and in the ELR, and becomes the ISR. If unclean election is on, it is the first live
   replica, which becomes the ISR; ELR and last known leader are cleared. Otherwise there is no leader.
3. With ELR, a leader lost without a successor is recorded as the last known leader if none is recorded. A new leader clears the record.

In KRaft a controlled shutdown has the same result as a death. The ZooKeeper controller first tries a controlled-shutdown election for
partitions with two or more replicas that b leads: the first replica that is live, in the ISR and not b becomes leader, and b leaves the
ISR. Where b is a follower, it leaves the ISR. Then b is gone, as above.

Before 3.6, also a smaller ISR raises the leader epoch. `election.partition_change` lists what else differs between releases.

Brokers that die together are handled one by one in the given order. Later ones count as live until their turn, as they do for the
controller.

    >>> orders = Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2, 3))
    >>> one = fail_brokers(orders, [1], {1, 2, 3}, controller="zookeeper", elr=False, unclean=False)
    >>> one.partition.leader, one.partition.isr
    (2, (2, 3))
    >>> two = fail_brokers(orders, [1, 2], {1, 2, 3}, controller="zookeeper", elr=False, unclean=False)
    >>> two.partition.leader, two.partition.isr, two.election.value
    (3, (3,), 'offline')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from kafka_model.election import partition_change
from kafka_model.election.leader_and_isr import controlled_shutdown_election, leave_isr, offline_election
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState, Transition
from kafka_model.release import LATEST, RELEASES, Release

Controller = Literal["zookeeper", "kraft"]

# The releases since which the rules of KRaft for failures are unchanged, each until the next one. Since 3.8.0 there is ELR.
KRAFT_RULES_SINCE = (RELEASES[0], Release(3, 6, 0), Release(3, 8, 0), Release(4, 1, 0), Release(4, 1, 1))


class ElectionKind(Enum):
    """The kind of the last election of a partition."""

    NONE = "none"
    OFFLINE = "offline"
    UNCLEAN = "unclean"  # the new leader was not in sync: records may be lost
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    LAST_KNOWN_LEADER = "last-known-leader"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A partition after an event, its last election, and the transitions of its state in order."""

    partition: Partition
    election: ElectionKind = ElectionKind.NONE
    transitions: tuple[Transition, ...] = ()


class _Rules(NamedTuple):
    """The election rules of a partition's cluster and topic."""

    controller: Controller
    elr: bool
    unclean: bool
    version: Release


def fail_brokers(
    partition: Partition,
    brokers: Iterable[int],
    live: Collection[int],
    *,
    controller: Controller,
    elr: bool,
    unclean: bool,
    controlled_shutdown: bool = False,
    version: Release = LATEST,
) -> Outcome:
    """Compute what happens to a partition when brokers are killed, or shut down in order, one after the other.

    `live` are the brokers that are live before the first one fails.
    """
    fail_one = _shut_down if controlled_shutdown else _kill
    rules = _Rules(controller, elr, unclean, version)
    outcome = Outcome(partition)
    still_live = set(live)
    for broker in brokers:
        still_live.discard(broker)
        step = fail_one(outcome.partition, broker, still_live, rules)
        election = outcome.election if step.election is ElectionKind.NONE else step.election
        outcome = Outcome(step.partition, election, outcome.transitions + step.transitions)
    return outcome


def return_broker(
    partition: Partition,
    broker: int,
    live_after: Collection[int],
    *,
    controller: Controller,
    elr: bool,
    unclean: bool,
    clean_stop: bool,
    version: Release = LATEST,
) -> Outcome:
    """Compute what happens to a partition when a broker returns: without a leader, another election takes place.

    The leader decides later which replicas join the ISR. With ELR, a broker without a clean shutdown first leaves ISR and ELR, because it
    may have lost records. The last known leader becomes leader only when ISR and ELR are empty, which may be when another broker returns.
    """
    if controller == "zookeeper":
        return Outcome(partition) if partition.leader in live_after else _offline_election(partition, live_after, unclean=unclean)
    rules = _Rules(controller, elr, unclean, version)
    changed = partition
    has_all_committed = {*partition.isr, *partition.elr}
    if elr and not clean_stop and broker in has_all_committed:
        has_all_committed.remove(broker)
        isr = [replica for replica in partition.isr if replica != broker]
        other_live = [replica for replica in live_after if replica != broker]
        changed = _change(changed, isr, other_live, rules, unclean_shutdown=[broker])
    if changed.leader is None:
        changed = _change(changed, changed.isr, live_after, rules)
    if partition.leader is not None:
        return Outcome(changed)
    if changed.leader is None:
        return Outcome(changed, ElectionKind.OFFLINE, ((PartitionState.OFFLINE, PartitionState.OFFLINE),))
    if changed.leader in has_all_committed:
        kind = ElectionKind.OFFLINE
    else:
        kind = ElectionKind.LAST_KNOWN_LEADER if (changed.leader,) == partition.last_known_elr else ElectionKind.UNCLEAN
    return Outcome(changed, kind, ((PartitionState.OFFLINE, PartitionState.ONLINE),))


def _kill(partition: Partition, broker: int, live: Collection[int], rules: _Rules) -> Outcome:
    if rules.controller == "kraft":
        return _fence(partition, broker, live, rules)
    elected = Outcome(partition) if partition.leader in live else _offline_election(partition, live, unclean=rules.unclean)
    return Outcome(leave_isr(elected.partition, broker), elected.election, elected.transitions)


def _offline_election(partition: Partition, live: Collection[int], *, unclean: bool) -> Outcome:
    """Take a partition without a live leader offline, and online again if the offline election finds a leader."""
    to_offline = (PartitionState.OFFLINE if partition.leader is None else PartitionState.ONLINE, PartitionState.OFFLINE)
    elected = offline_election(partition, live, unclean=unclean)
    if elected is None:
        return Outcome(partition, ElectionKind.OFFLINE, (to_offline,))
    kind = ElectionKind.OFFLINE if elected.leader in partition.isr else ElectionKind.UNCLEAN
    return Outcome(elected, kind, (to_offline, (PartitionState.OFFLINE, PartitionState.ONLINE)))


def _shut_down(partition: Partition, broker: int, live: Collection[int], rules: _Rules) -> Outcome:
    if rules.controller == "kraft":
        return _fence(partition, broker, live, rules)
    stopped = Outcome(partition)
    if len(partition.replicas) > 1 and partition.leader == broker:
        elected = controlled_shutdown_election(partition, {*live, broker}, {broker})
        if elected is not None:
            stopped = Outcome(elected, ElectionKind.CONTROLLED_SHUTDOWN, ((PartitionState.ONLINE, PartitionState.ONLINE),))
    elif len(partition.replicas) > 1:
        stopped = Outcome(leave_isr(partition, broker))
    killed = _kill(stopped.partition, broker, live, rules)
    kind = stopped.election if killed.election is ElectionKind.NONE else killed.election
    return Outcome(killed.partition, kind, stopped.transitions + killed.transitions)


def _fence(partition: Partition, broker: int, live: Collection[int], rules: _Rules) -> Outcome:
    if broker not in partition.isr:
        return Outcome(partition)
    changed = _change(partition, [replica for replica in partition.isr if replica != broker], live, rules)
    if partition.leader is not None and changed.leader == partition.leader:
        return Outcome(changed)
    to_offline = (PartitionState.OFFLINE if partition.leader is None else PartitionState.ONLINE, PartitionState.OFFLINE)
    if changed.leader is None:
        return Outcome(changed, ElectionKind.OFFLINE, (to_offline,))
    kind = ElectionKind.OFFLINE if changed.leader in {*partition.isr, *partition.elr} else ElectionKind.UNCLEAN
    return Outcome(changed, kind, (to_offline, (PartitionState.OFFLINE, PartitionState.ONLINE)))


def _change(
    partition: Partition, isr: Sequence[int], live: Collection[int], rules: _Rules, *, unclean_shutdown: Collection[int] = ()
) -> Partition:
    """Compute the partition with this ISR, as the KRaft controller changes it while these brokers are live."""
    election = partition_change.Election.UNCLEAN if rules.unclean else partition_change.Election.ONLINE
    return partition_change.change(
        partition,
        isr=isr,
        acceptable=live,
        elr=rules.elr,
        election=election,
        unclean_shutdown=unclean_shutdown,
        bump_on_isr_shrink=rules.version < Release(3, 6, 0),
        version=rules.version,
    )
