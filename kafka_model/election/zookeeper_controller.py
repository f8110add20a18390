"""The ZooKeeper controller: its state machines, its requests to brokers, and its reactions to events (Kafka 3.9.2).

Reproduces KafkaController, TopicDeletionManager, ZkPartitionStateMachine, ZkReplicaStateMachine and ControllerBrokerRequestBatch. Events
are deaths, starts and shutdowns of brokers, and creation, reassignment and deletion of partitions.

Only the controller runs the state machines. A new controller starts them from the state in ZooKeeper and the live brokers; the old
controller shuts them down and clears its context. `handle_state_changes` makes the valid transitions, skips the others, and sends
requests: LeaderAndIsr to replicas, UpdateMetadata to all live brokers, StopReplica to replicas that go offline. Each batch of transitions
is one batch of requests.

    >>> orders = ("orders", 0)
    >>> recorded = {orders: Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2, 3))}
    >>> up = start_up(Context(partitions=recorded, live=frozenset({1, 2, 3}))).context
    >>> after = on_broker_failure(up, [1])
    >>> after.context.partitions[orders].leader, after.context.partition_states[orders].value
    (2, 'OnlinePartition')
    >>> [sorted(requests.leader_and_isr) for requests in after.requests]
    [[2, 3], [2, 3]]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from kafka_model.election.leader_and_isr import (
    controlled_shutdown_election,
    first_leader,
    leave_isr,
    offline_election,
    preferred_election,
    reassign_election,
)
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState, ReplicaState, enter, enter_replica, may_enter, replica_entered_from
from kafka_model.java.scala_hash_map import scala_hash_map_order

TopicPartition = tuple[str, int]
Replica = tuple[TopicPartition, int]


class Strategy(Enum):
    """The election that brings a partition online (PartitionLeaderElectionStrategy)."""

    OFFLINE = "offline"
    OFFLINE_UNCLEAN = "offline, unclean regardless of the topic's config: requested by an admin client"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


@dataclass(frozen=True, slots=True)
class Context:
    """The state of the controller (ControllerContext). A partition with an empty ISR is new: ZooKeeper has no leader and ISR yet."""

    partitions: Mapping[TopicPartition, Partition]
    live: frozenset[int]  # includes brokers that are shutting down
    shutting_down: frozenset[int] = frozenset()
    unclean_topics: frozenset[str] = frozenset()  # unclean.leader.election.enable
    partition_states: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: Mapping[Replica, ReplicaState] = field(default_factory=dict)
    reassigning: frozenset[TopicPartition] = frozenset()
    deleting: frozenset[str] = frozenset()  # topics to delete
    deletion_started: frozenset[str] = frozenset()  # topics whose partitions are NonExistentPartition
    deletion_halted: frozenset[str] = frozenset()  # topics whose deletion waits for a broker or for the end of a reassignment

    @property
    def online(self) -> frozenset[int]:
        """Brokers that are live and not shutting down."""
        return self.live - self.shutting_down


@dataclass(frozen=True, slots=True)
class Requests:
    """One batch of requests, by broker. Only live brokers receive requests."""

    leader_and_isr: Mapping[int, Mapping[TopicPartition, tuple[Partition, bool]]] = field(default_factory=dict)  # True: new replica
    # Each partition with its offline replicas.
    update_metadata: Mapping[int, Mapping[TopicPartition, tuple[Partition, tuple[int, ...]]]] = field(default_factory=dict)
    stop_replica: Mapping[int, Mapping[TopicPartition, bool]] = field(default_factory=dict)  # True: delete the replica


@dataclass(frozen=True, slots=True)
class Changed:
    """The context after an event, the batches of requests in order, and the partitions whose election found no leader."""

    context: Context
    requests: tuple[Requests, ...] = ()
    failed: frozenset[TopicPartition] = frozenset()

    def followed_by(self, later: Changed) -> Changed:
        """Combine with the result of the next event."""
        return Changed(later.context, self.requests + later.requests, self.failed | later.failed)


# ---------------------------------------------------------------- events
def start_up(context: Context) -> Changed:
    """Make a broker the controller: send the live brokers to all, then start both state machines from the state in ZooKeeper."""
    states = {
        (partition, broker): ReplicaState.ONLINE if broker in context.online else ReplicaState.DELETION_INELIGIBLE
        for partition, registered in context.partitions.items()
        for broker in registered.replicas
    }
    changed = _send_metadata(replace(context, replica_states=states), context.live, ())
    online = [replica for replica in states if replica[1] in context.online]
    offline = [replica for replica in states if replica[1] not in context.online]
    changed = changed.followed_by(handle_replica_state_changes(changed.context, online, ReplicaState.ONLINE))
    changed = changed.followed_by(handle_replica_state_changes(changed.context, offline, ReplicaState.OFFLINE))
    partition_states = {}
    for partition, registered in changed.context.partitions.items():
        with_isr = PartitionState.ONLINE if registered.leader in context.online else PartitionState.OFFLINE
        partition_states[partition] = with_isr if registered.isr else PartitionState.NEW
    return changed.followed_by(trigger_online(replace(changed.context, partition_states=partition_states)))


def shut_down(context: Context) -> Context:
    """Resign as controller: stop the state machines and clear the context. The state in ZooKeeper stays."""
    return replace(context, live=frozenset(), shutting_down=frozenset(), partitions={}, partition_states={}, replica_states={})


def on_broker_failure(context: Context, dead: Collection[int]) -> Changed:
    """Handle dead brokers: their partitions go offline, and online if the offline election finds a leader; then they leave each ISR."""
    context = replace(context, live=context.live.difference(dead), shutting_down=context.shutting_down.difference(dead))
    leaderless = [
        partition
        for partition, known in context.partitions.items()
        if known.isr and known.leader not in context.online and partition[0] not in context.deleting
    ]
    changed = handle_state_changes(context, leaderless, PartitionState.OFFLINE)
    offline = {
        partition for partition in _new_or_offline(changed.context) if changed.context.partition_states[partition] is PartitionState.OFFLINE
    }
    elected = trigger_online(changed.context)
    changed = changed.followed_by(elected)
    all_replicas = _replicas_on(changed.context, dead)
    replicas = [replica for replica in all_replicas if replica[0][0] not in context.deleting]
    changed = changed.followed_by(handle_replica_state_changes(changed.context, replicas, ReplicaState.OFFLINE))
    changed = changed.followed_by(_fail_deletion(changed.context, [replica for replica in all_replicas if replica not in replicas]))
    if not replicas and offline <= elected.failed:  # no other request has reported the dead brokers
        changed = changed.followed_by(_send_metadata(changed.context, changed.context.live, ()))
    return changed


def on_broker_startup(context: Context, started: Collection[int]) -> Changed:
    """Handle started brokers: exchange metadata with them, bring their replicas online, and elect leaders of offline partitions."""
    context = replace(context, live=context.live.union(started))
    changed = _send_metadata(context, context.live.difference(started), ())
    with_isr = [partition for partition, known in context.partitions.items() if known.isr and partition[0] not in context.deleting]
    changed = changed.followed_by(_send_metadata(context, started, with_isr))
    changed = changed.followed_by(handle_replica_state_changes(changed.context, _replicas_on(context, started), ReplicaState.ONLINE))
    changed = changed.followed_by(trigger_online(changed.context))
    for partition in changed.context.reassigning:
        if not set(_target(changed.context.partitions[partition])).isdisjoint(started):
            changed = changed.followed_by(_reassign(changed.context, partition))
    return changed.followed_by(_resume_deletion(changed.context, {partition[0] for partition, _ in _replicas_on(changed.context, started)}))


def on_controlled_shutdown(context: Context, broker: int) -> Changed:
    """Handle a controlled shutdown: transfer leadership where possible, and remove the broker from the other ISRs.

    Partitions with one replica do not change.
    """
    context = replace(context, shutting_down=context.shutting_down | {broker})
    affected = [
        partition
        for partition, known in context.partitions.items()
        if broker in known.replicas and len(known.replicas) > 1 and known.isr and partition[0] not in context.deleting
    ]
    led = [partition for partition in affected if context.partitions[partition].leader == broker]
    followed = [partition for partition in affected if partition not in led]
    changed = handle_state_changes(context, led, PartitionState.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    batch = _RequestBatch(changed.context)
    for partition in followed:
        batch.add_stop_replica(broker, partition, delete=False)
    changed = changed.followed_by(Changed(changed.context, batch.requests()))
    replicas = [(partition, broker) for partition in followed]
    return changed.followed_by(handle_replica_state_changes(changed.context, replicas, ReplicaState.OFFLINE))


def on_new_partitions(context: Context, created: Mapping[TopicPartition, tuple[int, ...]]) -> Changed:
    """Handle created partitions: new, then online, led by the first live replica, with all live replicas in sync."""
    new = {partition: Partition(replicas=replicas, leader=None, isr=()) for partition, replicas in created.items()}
    changed = Changed(replace(context, partitions={**context.partitions, **new}))
    replicas = [(partition, broker) for partition, assigned in created.items() for broker in assigned]
    changed = changed.followed_by(handle_state_changes(changed.context, created, PartitionState.NEW))
    changed = changed.followed_by(handle_replica_state_changes(changed.context, replicas, ReplicaState.NEW))
    changed = changed.followed_by(handle_state_changes(changed.context, created, PartitionState.ONLINE, Strategy.OFFLINE))
    return changed.followed_by(handle_replica_state_changes(changed.context, replicas, ReplicaState.ONLINE))


def balance_leaders(context: Context, *, imbalance_percentage: int = 10) -> Changed:
    """Balance leaders automatically (auto.leader.rebalance.enable).

    A broker that leads too few of the partitions for which it is the preferred replica gets those that it can lead.
    """
    preferred: dict[int, list[TopicPartition]] = {}
    for partition, known in context.partitions.items():
        if partition[0] in context.deleting:
            continue
        preferred.setdefault(known.replicas[0], []).append(partition)
    changed = Changed(context)
    for broker, partitions in preferred.items():
        elsewhere = [
            partition for partition in partitions if context.partitions[partition].isr and context.partitions[partition].leader != broker
        ]
        if len(elsewhere) / len(partitions) > imbalance_percentage / 100:
            electable = [partition for partition in elsewhere if preferred_election(context.partitions[partition], context.online)]
            changed = changed.followed_by(handle_state_changes(changed.context, electable, PartitionState.ONLINE, Strategy.PREFERRED))
    return changed


def trigger_online(context: Context) -> Changed:
    """Bring new and offline partitions online where the offline election finds a leader."""
    return handle_state_changes(context, _new_or_offline(context), PartitionState.ONLINE, Strategy.OFFLINE)


def _new_or_offline(context: Context) -> list[TopicPartition]:
    return [
        partition
        for partition, state in context.partition_states.items()
        if state in (PartitionState.NEW, PartitionState.OFFLINE) and partition[0] not in context.deleting
    ]


# ---------------------------------------------------------------- reassignment
def on_reassignment(context: Context, partition: TopicPartition, target: Collection[int]) -> Changed:
    """Handle a requested reassignment (`onPartitionReassignment`).

    Added replicas start. Once all target replicas are in sync, the removed replicas are deleted.
    """
    current = context.partitions[partition]
    origin = [broker for broker in current.replicas if broker not in current.adding_replicas]
    replicas = tuple(dict.fromkeys([*target, *origin]))
    adding = tuple(broker for broker in replicas if broker not in origin)
    removing = tuple(broker for broker in replicas if broker not in target)
    requested = replace(current, replicas=replicas, adding_replicas=adding, removing_replicas=removing)
    halted = context.deletion_halted | ({partition[0]} & context.deleting)
    context = replace(context, partitions={**context.partitions, partition: requested}, deletion_halted=halted)
    unneeded = [broker for broker in current.replicas if broker not in replicas]
    changed = _delete_replicas(context, partition, unneeded) if requested != current else Changed(context)
    return changed.followed_by(_reassign(changed.context, partition))


def on_isr_change(context: Context, partition: TopicPartition, isr: Collection[int]) -> Changed:
    """Handle a changed ISR, which may complete a reassignment."""
    known = context.partitions[partition]
    known = replace(known, isr=tuple(isr), partition_epoch=known.partition_epoch + 1)
    changed = Changed(replace(context, partitions={**context.partitions, partition: known}))
    if partition in context.reassigning and set(_target(known)) <= set(isr):
        changed = changed.followed_by(_reassign(changed.context, partition))
    return changed


def _target(partition: Partition) -> tuple[int, ...]:
    return tuple(broker for broker in partition.replicas if broker not in partition.removing_replicas)


def _reassign(context: Context, partition: TopicPartition) -> Changed:
    known = context.partitions[partition]
    halted = context.deletion_halted | ({partition[0]} & context.deleting)
    context = replace(context, reassigning=context.reassigning | {partition}, deletion_halted=halted)
    in_progress = known.adding_replicas or known.removing_replicas
    if in_progress and not set(_target(known)) <= set(known.isr):
        changed = _send_new_epoch(context, partition)
        for broker in known.adding_replicas:
            changed = changed.followed_by(handle_replica_state_changes(changed.context, [(partition, broker)], ReplicaState.NEW))
        return changed
    added = [(partition, broker) for broker in known.adding_replicas]
    changed = handle_replica_state_changes(context, added, ReplicaState.ONLINE)
    reassigned = replace(changed.context.partitions[partition], replicas=_target(known), adding_replicas=(), removing_replicas=())
    context = replace(changed.context, partitions={**changed.context.partitions, partition: reassigned})
    if reassigned.leader in reassigned.replicas and reassigned.leader in context.online:
        leader_confirmed = _send_new_epoch(context, partition)
    else:
        leader_confirmed = handle_state_changes(context, [partition], PartitionState.ONLINE, Strategy.REASSIGN)
    changed = changed.followed_by(leader_confirmed)
    changed = changed.followed_by(_delete_replicas(changed.context, partition, known.removing_replicas))
    context = replace(changed.context, reassigning=changed.context.reassigning - {partition})
    changed = changed.followed_by(_send_metadata(context, context.live, [partition]))
    return changed.followed_by(_resume_deletion(changed.context, {partition[0]}))


def _send_new_epoch(context: Context, partition: TopicPartition) -> Changed:
    """Send the replicas of a partition to each of them, with a new leader epoch."""
    known = context.partitions[partition]
    known = replace(known, leader_epoch=known.leader_epoch + 1, partition_epoch=known.partition_epoch + 1)
    context = replace(context, partitions={**context.partitions, partition: known})
    batch = _RequestBatch(context)
    batch.add_leader_and_isr([broker for broker in known.replicas if broker not in known.adding_replicas], partition, known, new=False)
    batch.add_leader_and_isr(known.adding_replicas, partition, known, new=True)
    return Changed(context, batch.requests())


def _delete_replicas(context: Context, partition: TopicPartition, brokers: Collection[int]) -> Changed:
    """Take removed replicas through all states to NonExistentReplica. The controller does not wait for their brokers."""
    changed = Changed(context)
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        replicas = [(partition, broker) for broker in brokers]
        changed = changed.followed_by(handle_replica_state_changes(changed.context, replicas, state))
    return changed


# ---------------------------------------------------------------- topic deletion
def on_topic_deletion(context: Context, topics: Collection[str]) -> Changed:
    """Handle a requested deletion of topics; unknown topics are ignored (`TopicDeletionManager`).

    Partitions are deleted at once, replicas when their brokers respond. A topic with a replica on a dead broker waits.
    """
    topics = {topic for topic, _ in context.partitions}.intersection(topics)
    if not topics:
        return Changed(context)
    moving = {topic for topic, _ in context.reassigning}
    halted = context.deletion_halted | {topic for topic in topics if topic in moving and topic in context.deleting}
    return _resume_deletions(replace(context, deleting=context.deleting | set(topics), deletion_halted=halted))


def on_replicas_deleted(context: Context, broker: int, *, failed: bool) -> Changed:
    """Handle a broker's response to StopReplica: its replicas are deleted, or the deletion failed."""
    replicas = [
        replica for replica, state in context.replica_states.items() if replica[1] == broker and state is ReplicaState.DELETION_STARTED
    ]
    if failed or not replicas:
        return _fail_deletion(context, replicas)
    changed = handle_replica_state_changes(context, replicas, ReplicaState.DELETION_SUCCESSFUL)
    return changed.followed_by(_resume_deletions(changed.context))


def _fail_deletion(context: Context, replicas: Collection[Replica]) -> Changed:
    if not replicas:
        return Changed(context)
    changed = handle_replica_state_changes(context, replicas, ReplicaState.DELETION_INELIGIBLE)
    halted = changed.context.deletion_halted | {partition[0] for partition, _ in replicas}
    return changed.followed_by(_resume_deletions(replace(changed.context, deletion_halted=halted)))


def _resume_deletion(context: Context, topics: Collection[str]) -> Changed:
    resumed = context.deleting.intersection(topics)
    return _resume_deletions(replace(context, deletion_halted=context.deletion_halted - resumed)) if resumed else Changed(context)


def _resume_deletions(context: Context) -> Changed:
    changed = Changed(context)
    retried: list[Replica] = []
    ready: list[str] = []
    for topic in sorted(context.deleting):
        states = {replica: state for replica, state in changed.context.replica_states.items() if replica[0][0] == topic}
        if all(state is ReplicaState.DELETION_SUCCESSFUL for state in states.values()):
            changed = changed.followed_by(handle_replica_state_changes(changed.context, states, ReplicaState.NON_EXISTENT))
            changed = changed.followed_by(Changed(_without_topic(changed.context, topic)))
        elif ReplicaState.DELETION_STARTED not in states.values():
            retried += [replica for replica, state in states.items() if state is ReplicaState.DELETION_INELIGIBLE]
            ready += [topic] if topic not in changed.context.deletion_halted else []
    if retried:
        changed = changed.followed_by(handle_replica_state_changes(changed.context, retried, ReplicaState.OFFLINE))
    return changed.followed_by(_delete_topics(changed.context, ready)) if ready else changed


def _delete_topics(context: Context, topics: Collection[str]) -> Changed:
    partitions = [partition for partition in context.partitions if partition[0] in topics]
    not_started = [partition for partition in partitions if partition[0] not in context.deletion_started]
    changed = Changed(context)
    for state in (PartitionState.OFFLINE, PartitionState.NON_EXISTENT):
        changed = changed.followed_by(handle_state_changes(changed.context, not_started, state))
    context = replace(changed.context, deletion_started=context.deletion_started | set(topics))
    with_isr = [partition for partition in partitions if context.partitions[partition].isr]
    changed = changed.followed_by(_send_metadata(context, context.live, with_isr))
    replicas = [(partition, broker) for partition in partitions for broker in context.partitions[partition].replicas]
    dead = [replica for replica in replicas if replica[1] not in context.online]
    rest = [
        replica
        for replica in replicas
        if replica not in dead and context.replica_states.get(replica) is not ReplicaState.DELETION_SUCCESSFUL
    ]
    for affected, target in (
        (dead, ReplicaState.DELETION_INELIGIBLE),
        (rest, ReplicaState.OFFLINE),
        (rest, ReplicaState.DELETION_STARTED),
    ):
        changed = changed.followed_by(handle_replica_state_changes(changed.context, affected, target))
    halted = changed.context.deletion_halted | {partition[0] for partition, _ in dead}
    return changed.followed_by(Changed(replace(changed.context, deletion_halted=halted)))


def _without_topic(context: Context, topic: str) -> Context:
    """Remove a topic from the context. The states of its partitions stay NonExistentPartition."""
    return replace(
        context,
        partitions={partition: known for partition, known in context.partitions.items() if partition[0] != topic},
        deleting=context.deleting - {topic},
        deletion_started=context.deletion_started - {topic},
        deletion_halted=context.deletion_halted - {topic},
    )


# ---------------------------------------------------------------- state machines
def handle_state_changes(
    context: Context, partitions: Iterable[TopicPartition], target: PartitionState, strategy: Strategy | None = None
) -> Changed:
    """Change the state of partitions. Invalid transitions and elections without a leader leave a partition unchanged.

    A strategy is needed for OnlinePartition.
    """
    if target is PartitionState.ONLINE and strategy is None:
        raise ValueError("a partition comes online by an election: give a strategy")
    states = dict(context.partition_states)
    known = dict(context.partitions)
    failed: set[TopicPartition] = set()
    batch = _RequestBatch(context)
    for partition in partitions:
        state = states.setdefault(partition, PartitionState.NON_EXISTENT)
        if not may_enter(state, target):
            continue
        if target is PartitionState.ONLINE and strategy is not None:
            elected = (
                first_leader(known[partition], context.online) if state is PartitionState.NEW else _elected(context, partition, strategy)
            )
            if elected is None:
                failed |= set() if state is PartitionState.NEW else {partition}
                continue
            known[partition] = elected
            recipients = elected.isr if state is PartitionState.NEW else _recipients(context, elected, strategy)
            batch.add_leader_and_isr(recipients, partition, elected, new=state is PartitionState.NEW)
        states[partition] = enter(state, target)
    return Changed(replace(context, partitions=known, partition_states=states), batch.requests(), frozenset(failed))


def handle_replica_state_changes(context: Context, replicas: Iterable[Replica], target: ReplicaState) -> Changed:
    """Change the state of replicas, broker by broker. A replica that goes offline stops, leaves the ISR and no longer leads."""
    states = dict(context.replica_states)
    known = dict(context.partitions)
    batch = _RequestBatch(context)
    partitions_by_broker: dict[int, list[TopicPartition]] = {}
    for partition, broker in replicas:
        partitions_by_broker.setdefault(broker, []).append(partition)
    # The order matters if the whole ISR goes offline, because the last member stays. Kafka iterates over the map of groupBy.
    for broker in scala_hash_map_order(list(partitions_by_broker)):
        for partition in partitions_by_broker[broker]:
            state = states.setdefault((partition, broker), ReplicaState.NON_EXISTENT)
            if state not in replica_entered_from(target):
                continue
            current = known[partition]
            if target is ReplicaState.NEW and current.isr:
                if current.leader == broker:
                    continue  # the leader cannot become a new replica
                batch.add_leader_and_isr([broker], partition, current, new=True)
            elif target is ReplicaState.ONLINE:
                if state is ReplicaState.NEW and broker not in current.replicas:
                    known[partition] = replace(current, replicas=(*current.replicas, broker))
                elif state is not ReplicaState.NEW and current.isr:
                    batch.add_leader_and_isr([broker], partition, current, new=False)
            elif target is ReplicaState.OFFLINE:
                batch.add_stop_replica(broker, partition, delete=False)
                if current.isr:
                    known[partition] = leave_isr(current, broker)
                    if partition[0] not in context.deleting:
                        others = [other for other in current.replicas if other != broker]
                        batch.add_leader_and_isr(others, partition, known[partition], new=False)
                else:
                    batch.add_metadata(context.live, [])
            elif target is ReplicaState.DELETION_STARTED:
                batch.add_stop_replica(broker, partition, delete=True)
            states[partition, broker] = enter_replica(state, target)
            if target is ReplicaState.NON_EXISTENT:
                del states[partition, broker]
                known[partition] = _without_replica(current, broker)
    return Changed(replace(context, partitions=known, replica_states=states), batch.requests())


def _without_replica(partition: Partition, broker: int) -> Partition:
    return replace(
        partition,
        replicas=tuple(other for other in partition.replicas if other != broker),
        adding_replicas=tuple(other for other in partition.adding_replicas if other != broker),
        removing_replicas=tuple(other for other in partition.removing_replicas if other != broker),
    )


def _elected(context: Context, name: TopicPartition, strategy: Strategy) -> Partition | None:
    """Elect a leader by the strategy. None if there is no leader."""
    partition = context.partitions[name]
    if strategy is Strategy.REASSIGN:
        return reassign_election(partition, context.online)
    if strategy is Strategy.PREFERRED:
        return preferred_election(partition, context.online)
    if strategy is Strategy.CONTROLLED_SHUTDOWN:
        return controlled_shutdown_election(partition, context.live, context.shutting_down)
    unclean = strategy is Strategy.OFFLINE_UNCLEAN or name[0] in context.unclean_topics
    return offline_election(partition, context.online, unclean=unclean)


def _recipients(context: Context, partition: Partition, strategy: Strategy) -> tuple[int, ...]:
    if strategy is Strategy.REASSIGN:
        return tuple(broker for broker in partition.replicas if broker not in partition.removing_replicas)
    if strategy is Strategy.PREFERRED:
        return partition.replicas
    reachable = context.live if strategy is Strategy.CONTROLLED_SHUTDOWN else context.online
    return tuple(broker for broker in partition.replicas if broker in reachable)


def _replicas_on(context: Context, brokers: Collection[int]) -> list[Replica]:
    return [(partition, broker) for partition, known in context.partitions.items() for broker in known.replicas if broker in brokers]


# ---------------------------------------------------------------- requests
def _send_metadata(context: Context, brokers: Collection[int], partitions: Collection[TopicPartition]) -> Changed:
    batch = _RequestBatch(context)
    batch.add_metadata(brokers, [(partition, context.partitions[partition]) for partition in partitions])
    return Changed(context, batch.requests())


class _RequestBatch:
    """Requests of one batch. The last state of a partition counts; a replica marked as new or to be deleted keeps that mark."""

    __slots__ = ("context", "leader_and_isr", "metadata", "metadata_brokers", "stop_replica")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.leader_and_isr: dict[int, dict[TopicPartition, tuple[Partition, bool]]] = {}
        self.metadata_brokers: set[int] = set()
        self.metadata: dict[TopicPartition, tuple[Partition, tuple[int, ...]]] = {}
        self.stop_replica: dict[int, dict[TopicPartition, bool]] = {}

    def add_leader_and_isr(self, brokers: Iterable[int], partition: TopicPartition, state: Partition, *, new: bool) -> None:
        for broker in brokers:
            states = self.leader_and_isr.setdefault(broker, {})
            states[partition] = (state, new or (partition in states and states[partition][1]))
        self.add_metadata(self.context.live, [(partition, state)])

    def add_metadata(self, brokers: Collection[int], partitions: Iterable[tuple[TopicPartition, Partition]]) -> None:
        self.metadata_brokers.update(brokers)
        for partition, state in partitions:
            if partition[0] in self.context.deleting:
                state = replace(state, leader=None, leader_epoch=0, partition_epoch=0)
            self.metadata[partition] = (state, tuple(broker for broker in state.replicas if broker not in self.context.online))

    def add_stop_replica(self, broker: int, partition: TopicPartition, *, delete: bool) -> None:
        stops = self.stop_replica.setdefault(broker, {})
        stops[partition] = delete or stops.get(partition, False)

    def requests(self) -> tuple[Requests, ...]:
        live = self.context.live
        requests = Requests(
            {broker: states for broker, states in self.leader_and_isr.items() if broker in live},
            {broker: dict(self.metadata) for broker in self.metadata_brokers & live},
            {broker: stops for broker, stops in self.stop_replica.items() if broker in live},
        )
        return () if requests == Requests() else (requests,)
