"""The ZooKeeper controller: its two state machines at work, whom it tells, and what it does when brokers come and go,
partitions move and topics are deleted (Kafka 3.9.2).

KafkaController, ZkPartitionStateMachine, ZkReplicaStateMachine and ControllerBrokerRequestBatch. Only the broker that is the controller
runs the machines: the new one starts them up from what ZooKeeper holds and which brokers live, the old one shuts them down, which forgets
all that it knew. `handle_state_changes` makes the legal transitions, leaves the others as they are, and tells the brokers concerned:
LeaderAndIsr goes to replicas, UpdateMetadata to all live brokers, StopReplica to replicas that go offline. Each batch of changes is one
batch of requests.

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
from kafka_model.election.state_machines import PartitionState, ReplicaState, enter, enter_replica, may_enter, replica_may_enter
from kafka_model.java.scala_hash_map import scala_hash_map_order

TopicPartition = tuple[str, int]
Replica = tuple[TopicPartition, int]


class Strategy(Enum):
    """PartitionLeaderElectionStrategy: which election brings a partition online."""

    OFFLINE = "offline"
    OFFLINE_UNCLEAN = "offline, unclean whatever the topic says: asked by an admin client"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


@dataclass(frozen=True, slots=True)
class Context:
    """What the controller knows (ControllerContext). A partition with an empty ISR is new: ZooKeeper has no leader and ISR of it yet."""

    partitions: Mapping[TopicPartition, Partition]
    live: frozenset[int]  # those shutting down included
    shutting_down: frozenset[int] = frozenset()
    unclean_topics: frozenset[str] = frozenset()  # unclean.leader.election.enable
    partition_states: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: Mapping[Replica, ReplicaState] = field(default_factory=dict)
    reassigning: frozenset[TopicPartition] = frozenset()
    deleting: frozenset[str] = frozenset()  # topics that are to go
    deletion_started: frozenset[str] = frozenset()  # whose partitions are no more
    deletion_halted: frozenset[str] = frozenset()  # that wait for a broker, or for a reassignment to end

    @property
    def online(self) -> frozenset[int]:
        """Live, and not shutting down."""
        return self.live - self.shutting_down


@dataclass(frozen=True, slots=True)
class Requests:
    """One batch, by broker: only live brokers are told."""

    leader_and_isr: Mapping[int, Mapping[TopicPartition, tuple[Partition, bool]]] = field(default_factory=dict)  # and whether it is new
    update_metadata: Mapping[int, Mapping[TopicPartition, tuple[Partition, tuple[int, ...]]]] = field(
        default_factory=dict
    )  # and offline replicas
    stop_replica: Mapping[int, Mapping[TopicPartition, bool]] = field(default_factory=dict)  # and whether to delete it


@dataclass(frozen=True, slots=True)
class Changed:
    """The context after an event, the batches of requests in order, and the partitions for which an election was held in vain."""

    context: Context
    requests: tuple[Requests, ...] = ()
    failed: frozenset[TopicPartition] = frozenset()

    def then(self, after: Changed) -> Changed:
        """This, and what came of it next."""
        return Changed(after.context, self.requests + after.requests, self.failed | after.failed)


# ---------------------------------------------------------------- events
def start_up(context: Context) -> Changed:
    """A broker becomes the controller: all brokers learn who lives, then both machines start from what ZooKeeper holds."""
    states = {
        (partition, broker): ReplicaState.ONLINE if broker in context.online else ReplicaState.DELETION_INELIGIBLE
        for partition, registered in context.partitions.items()
        for broker in registered.replicas
    }
    changed = _tell_metadata(replace(context, replica_states=states), context.live, ())
    online = [replica for replica in states if replica[1] in context.online]
    offline = [replica for replica in states if replica[1] not in context.online]
    changed = changed.then(handle_replica_state_changes(changed.context, online, ReplicaState.ONLINE))
    changed = changed.then(handle_replica_state_changes(changed.context, offline, ReplicaState.OFFLINE))
    partition_states = {}
    for partition, registered in changed.context.partitions.items():
        leads = PartitionState.ONLINE if registered.leader in context.online else PartitionState.OFFLINE
        partition_states[partition] = leads if registered.isr else PartitionState.NEW
    return changed.then(trigger_online(replace(changed.context, partition_states=partition_states)))


def shut_down(context: Context) -> Context:
    """A broker is the controller no more: its machines stop, and it forgets; what ZooKeeper holds stays."""
    return replace(context, live=frozenset(), shutting_down=frozenset(), partitions={}, partition_states={}, replica_states={})


def on_broker_failure(context: Context, dead: Collection[int]) -> Changed:
    """Brokers died: partitions that they led go offline and online again if the offline election finds a leader, then they leave each
    ISR.
    """
    context = replace(context, live=context.live.difference(dead), shutting_down=context.shutting_down.difference(dead))
    leaderless = [
        partition
        for partition, known in context.partitions.items()
        if known.isr and known.leader not in context.online and partition[0] not in context.deleting
    ]
    changed = handle_state_changes(context, leaderless, PartitionState.OFFLINE)
    offline = {
        partition for partition in _waiting(changed.context) if changed.context.partition_states[partition] is PartitionState.OFFLINE
    }
    elected = trigger_online(changed.context)
    changed = changed.then(elected)
    all_replicas = _replicas_on(changed.context, dead)
    replicas = [replica for replica in all_replicas if replica[0][0] not in context.deleting]
    changed = changed.then(handle_replica_state_changes(changed.context, replicas, ReplicaState.OFFLINE))
    changed = changed.then(_fail_deletion(changed.context, [replica for replica in all_replicas if replica not in replicas]))
    if not replicas and offline <= elected.failed:  # nothing else has told the brokers who died
        changed = changed.then(_tell_metadata(changed.context, changed.context.live, ()))
    return changed


def on_broker_startup(context: Context, started: Collection[int]) -> Changed:
    """Brokers came: all learn of them, they learn all, their replicas come online, and offline partitions may find a leader among them."""
    context = replace(context, live=context.live.union(started))
    changed = _tell_metadata(context, context.live.difference(started), ())
    told = [partition for partition, known in context.partitions.items() if known.isr and partition[0] not in context.deleting]
    changed = changed.then(_tell_metadata(context, started, told))
    changed = changed.then(handle_replica_state_changes(changed.context, _replicas_on(context, started), ReplicaState.ONLINE))
    changed = changed.then(trigger_online(changed.context))
    for partition in changed.context.reassigning:
        if not set(_target(changed.context.partitions[partition])).isdisjoint(started):
            changed = changed.then(_reassign(changed.context, partition))
    return changed.then(_resume_deletion(changed.context, {partition[0] for partition, _ in _replicas_on(changed.context, started)}))


def on_controlled_shutdown(context: Context, broker: int) -> Changed:
    """A broker asks to stop: what it leads is handed over where that is possible, and it leaves the other ISRs; partitions of one
    replica stay.
    """
    context = replace(context, shutting_down=context.shutting_down | {broker})
    held = [
        partition
        for partition, known in context.partitions.items()
        if broker in known.replicas and len(known.replicas) > 1 and known.isr and partition[0] not in context.deleting
    ]
    led = [partition for partition in held if context.partitions[partition].leader == broker]
    followed = [partition for partition in held if partition not in led]
    changed = handle_state_changes(context, led, PartitionState.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    stopped = _Batch(changed.context)
    for partition in followed:
        stopped.stop(broker, partition, delete=False)
    changed = changed.then(Changed(changed.context, stopped.sent()))
    replicas = [(partition, broker) for partition in followed]
    return changed.then(handle_replica_state_changes(changed.context, replicas, ReplicaState.OFFLINE))


def on_new_partitions(context: Context, created: Mapping[TopicPartition, tuple[int, ...]]) -> Changed:
    """Partitions were created: new, then online, led by the first live replica, with all live ones in sync."""
    fresh = {partition: Partition(replicas=replicas, leader=None, isr=()) for partition, replicas in created.items()}
    changed = Changed(replace(context, partitions={**context.partitions, **fresh}))
    replicas = [(partition, broker) for partition, assigned in created.items() for broker in assigned]
    changed = changed.then(handle_state_changes(changed.context, created, PartitionState.NEW))
    changed = changed.then(handle_replica_state_changes(changed.context, replicas, ReplicaState.NEW))
    changed = changed.then(handle_state_changes(changed.context, created, PartitionState.ONLINE, Strategy.OFFLINE))
    return changed.then(handle_replica_state_changes(changed.context, replicas, ReplicaState.ONLINE))


def balance_leaders(context: Context, *, imbalance_percentage: int = 10) -> Changed:
    """The automatic balance (auto.leader.rebalance.enable): where a broker leads too few of those it is preferred for, it gets those
    that it can lead.
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
            able = [partition for partition in elsewhere if preferred_election(context.partitions[partition], context.online)]
            changed = changed.then(handle_state_changes(changed.context, able, PartitionState.ONLINE, Strategy.PREFERRED))
    return changed


_WAITING = (PartitionState.NEW, PartitionState.OFFLINE)


def trigger_online(context: Context) -> Changed:
    """New and offline partitions are brought online by the offline election, where it finds a leader."""
    return handle_state_changes(context, _waiting(context), PartitionState.ONLINE, Strategy.OFFLINE)


def _waiting(context: Context) -> list[TopicPartition]:
    return [
        partition for partition, state in context.partition_states.items() if state in _WAITING and partition[0] not in context.deleting
    ]


# ---------------------------------------------------------------- partitions that move
def on_reassignment(context: Context, partition: TopicPartition, target: Collection[int]) -> Changed:
    """A partition is to move to other replicas: those that come are started; once all of the target are in sync, those that go are
    deleted. (`onPartitionReassignment`.)
    """
    before = context.partitions[partition]
    origin = [broker for broker in before.replicas if broker not in before.adding_replicas]
    replicas = tuple(dict.fromkeys([*target, *origin]))
    adding = tuple(broker for broker in replicas if broker not in origin)
    removing = tuple(broker for broker in replicas if broker not in target)
    after = replace(before, replicas=replicas, adding_replicas=adding, removing_replicas=removing)
    halted = context.deletion_halted | ({partition[0]} & context.deleting)
    context = replace(context, partitions={**context.partitions, partition: after}, deletion_halted=halted)
    unneeded = [broker for broker in before.replicas if broker not in replicas]
    changed = _delete_replicas(context, partition, unneeded) if after != before else Changed(context)
    return changed.then(_reassign(changed.context, partition))


def on_isr_change(context: Context, partition: TopicPartition, isr: Collection[int]) -> Changed:
    """A leader has another ISR: a partition that moves may have arrived."""
    known = context.partitions[partition]
    known = replace(known, isr=tuple(isr), partition_epoch=known.partition_epoch + 1)
    changed = Changed(replace(context, partitions={**context.partitions, partition: known}))
    if partition in context.reassigning and set(_target(known)) <= set(isr):
        changed = changed.then(_reassign(changed.context, partition))
    return changed


def _target(partition: Partition) -> tuple[int, ...]:
    return tuple(broker for broker in partition.replicas if broker not in partition.removing_replicas)


def _reassign(context: Context, partition: TopicPartition) -> Changed:
    known = context.partitions[partition]
    halted = context.deletion_halted | ({partition[0]} & context.deleting)
    context = replace(context, reassigning=context.reassigning | {partition}, deletion_halted=halted)
    moving = known.adding_replicas or known.removing_replicas
    if moving and not set(_target(known)) <= set(known.isr):
        changed = _tell_moving(context, partition)
        for broker in known.adding_replicas:
            changed = changed.then(handle_replica_state_changes(changed.context, [(partition, broker)], ReplicaState.NEW))
        return changed
    arrived = [(partition, broker) for broker in known.adding_replicas]
    changed = handle_replica_state_changes(context, arrived, ReplicaState.ONLINE)
    settled = replace(changed.context.partitions[partition], replicas=_target(known), adding_replicas=(), removing_replicas=())
    context = replace(changed.context, partitions={**changed.context.partitions, partition: settled})
    if settled.leader in settled.replicas and settled.leader in context.online:
        led = _tell_moving(context, partition)
    else:
        led = handle_state_changes(context, [partition], PartitionState.ONLINE, Strategy.REASSIGN)
    changed = changed.then(led)
    changed = changed.then(_delete_replicas(changed.context, partition, known.removing_replicas))
    context = replace(changed.context, reassigning=changed.context.reassigning - {partition})
    changed = changed.then(_tell_metadata(context, context.live, [partition]))
    return changed.then(_resume_deletion(changed.context, {partition[0]}))


def _tell_moving(context: Context, partition: TopicPartition) -> Changed:
    """All replicas learn of each other, at a new leader epoch."""
    known = context.partitions[partition]
    known = replace(known, leader_epoch=known.leader_epoch + 1, partition_epoch=known.partition_epoch + 1)
    context = replace(context, partitions={**context.partitions, partition: known})
    batch = _Batch(context)
    batch.tell([broker for broker in known.replicas if broker not in known.adding_replicas], partition, known, new=False)
    batch.tell(known.adding_replicas, partition, known, new=True)
    return Changed(context, batch.sent())


def _delete_replicas(context: Context, partition: TopicPartition, brokers: Collection[int]) -> Changed:
    """Replicas that a partition does without, from wherever they are to none: the controller does not wait for their brokers."""
    changed = Changed(context)
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        replicas = [(partition, broker) for broker in brokers]
        changed = changed.then(handle_replica_state_changes(changed.context, replicas, state))
    return changed


# ---------------------------------------------------------------- topics that go
def on_topic_deletion(context: Context, topics: Collection[str]) -> Changed:
    """Topics, those that exist, are to be deleted (`TopicDeletionManager`): their partitions cease to exist at once, their replicas as
    brokers answer; a topic with a replica on a dead broker waits.
    """
    topics = {topic for topic, _ in context.partitions}.intersection(topics)
    if not topics:
        return Changed(context)
    moving = {topic for topic, _ in context.reassigning}
    halted = context.deletion_halted | {topic for topic in topics if topic in moving and topic in context.deleting}
    return _resume_deletions(replace(context, deleting=context.deleting | set(topics), deletion_halted=halted))


def on_replicas_deleted(context: Context, broker: int, *, failed: bool) -> Changed:
    """A broker answers to StopReplica: the replicas that it was to delete are gone, or could not be deleted."""
    replicas = [
        replica for replica, state in context.replica_states.items() if replica[1] == broker and state is ReplicaState.DELETION_STARTED
    ]
    if failed or not replicas:
        return _fail_deletion(context, replicas)
    changed = handle_replica_state_changes(context, replicas, ReplicaState.DELETION_SUCCESSFUL)
    return changed.then(_resume_deletions(changed.context))


def _fail_deletion(context: Context, replicas: Collection[Replica]) -> Changed:
    if not replicas:
        return Changed(context)
    changed = handle_replica_state_changes(context, replicas, ReplicaState.DELETION_INELIGIBLE)
    halted = changed.context.deletion_halted | {partition[0] for partition, _ in replicas}
    return changed.then(_resume_deletions(replace(changed.context, deletion_halted=halted)))


def _resume_deletion(context: Context, topics: Collection[str]) -> Changed:
    resumed = context.deleting.intersection(topics)
    return _resume_deletions(replace(context, deletion_halted=context.deletion_halted - resumed)) if resumed else Changed(context)


def _resume_deletions(context: Context) -> Changed:
    changed = Changed(context)
    retried: list[Replica] = []
    begun: list[str] = []
    for topic in sorted(context.deleting):
        states = {replica: state for replica, state in changed.context.replica_states.items() if replica[0][0] == topic}
        if all(state is ReplicaState.DELETION_SUCCESSFUL for state in states.values()):
            changed = changed.then(handle_replica_state_changes(changed.context, states, ReplicaState.NON_EXISTENT))
            changed = changed.then(Changed(_without(changed.context, topic)))
        elif ReplicaState.DELETION_STARTED not in states.values():
            retried += [replica for replica, state in states.items() if state is ReplicaState.DELETION_INELIGIBLE]
            begun += [topic] if topic not in changed.context.deletion_halted else []
    if retried:
        changed = changed.then(handle_replica_state_changes(changed.context, retried, ReplicaState.OFFLINE))
    return changed.then(_delete_topics(changed.context, begun)) if begun else changed


def _delete_topics(context: Context, topics: Collection[str]) -> Changed:
    partitions = [partition for partition in context.partitions if partition[0] in topics]
    unseen = [partition for partition in partitions if partition[0] not in context.deletion_started]
    changed = Changed(context)
    for gone in (PartitionState.OFFLINE, PartitionState.NON_EXISTENT):
        changed = changed.then(handle_state_changes(changed.context, unseen, gone))
    context = replace(changed.context, deletion_started=context.deletion_started | set(topics))
    led = [partition for partition in partitions if context.partitions[partition].isr]
    changed = changed.then(_tell_metadata(context, context.live, led))
    replicas = [(partition, broker) for partition in partitions for broker in context.partitions[partition].replicas]
    dead = [replica for replica in replicas if replica[1] not in context.online]
    rest = [
        replica
        for replica in replicas
        if replica not in dead and context.replica_states.get(replica) is not ReplicaState.DELETION_SUCCESSFUL
    ]
    for some, state in ((dead, ReplicaState.DELETION_INELIGIBLE), (rest, ReplicaState.OFFLINE), (rest, ReplicaState.DELETION_STARTED)):
        changed = changed.then(handle_replica_state_changes(changed.context, some, state))
    halted = changed.context.deletion_halted | {partition[0] for partition, _ in dead}
    return changed.then(Changed(replace(changed.context, deletion_halted=halted)))


def _without(context: Context, topic: str) -> Context:
    """The controller forgets the topic, but for the states of its partitions, which stay NonExistentPartition."""
    return replace(
        context,
        partitions={partition: known for partition, known in context.partitions.items() if partition[0] != topic},
        deleting=context.deleting - {topic},
        deletion_started=context.deletion_started - {topic},
        deletion_halted=context.deletion_halted - {topic},
    )


# ---------------------------------------------------------------- the machines
def handle_state_changes(
    context: Context, partitions: Iterable[TopicPartition], target: PartitionState, strategy: Strategy | None = None
) -> Changed:
    """Take partitions to a state: what may not go there stays, what finds no leader stays; to be online, a strategy is needed."""
    if target is PartitionState.ONLINE and strategy is None:
        raise ValueError("a partition comes online by an election: name its strategy")
    states = dict(context.partition_states)
    known = dict(context.partitions)
    failed: set[TopicPartition] = set()
    batch = _Batch(context)
    for partition in partitions:
        before = states.setdefault(partition, PartitionState.NON_EXISTENT)
        if not may_enter(before, target):
            continue
        if target is PartitionState.ONLINE and strategy is not None:
            after = (
                first_leader(known[partition], context.online) if before is PartitionState.NEW else _elected(context, partition, strategy)
            )
            if after is None:
                failed |= set() if before is PartitionState.NEW else {partition}
                continue
            known[partition] = after
            told = after.isr if before is PartitionState.NEW else _recipients(context, after, strategy)
            batch.tell(told, partition, after, new=before is PartitionState.NEW)
        states[partition] = enter(before, target)
    return Changed(replace(context, partitions=known, partition_states=states), batch.sent(), frozenset(failed))


def handle_replica_state_changes(context: Context, replicas: Iterable[Replica], target: ReplicaState) -> Changed:
    """Take replicas to a state, broker by broker: one that goes offline stops, leaves the ISR and leads no more."""
    states = dict(context.replica_states)
    known = dict(context.partitions)
    batch = _Batch(context)
    by_broker: dict[int, list[TopicPartition]] = {}
    for partition, broker in replicas:
        by_broker.setdefault(broker, []).append(partition)
    # Who goes first matters where all of an ISR go: the last stays in it. Kafka walks groupBy's map.
    for broker in scala_hash_map_order(list(by_broker)):
        for partition in by_broker[broker]:
            before = states.setdefault((partition, broker), ReplicaState.NON_EXISTENT)
            if not replica_may_enter(before, target):
                continue
            at = known[partition]
            if target is ReplicaState.NEW and at.isr:
                if at.leader == broker:
                    continue  # a new replica may not be the one that leads
                batch.tell([broker], partition, at, new=True)
            elif target is ReplicaState.ONLINE:
                if before is ReplicaState.NEW and broker not in at.replicas:
                    known[partition] = replace(at, replicas=(*at.replicas, broker))
                elif before is not ReplicaState.NEW and at.isr:
                    batch.tell([broker], partition, at, new=False)
            elif target is ReplicaState.OFFLINE:
                batch.stop(broker, partition, delete=False)
                if at.isr:
                    known[partition] = leave_isr(at, broker)
                    if partition[0] not in context.deleting:
                        batch.tell([other for other in at.replicas if other != broker], partition, known[partition], new=False)
                else:
                    batch.tell_metadata(context.live, [])
            elif target is ReplicaState.DELETION_STARTED:
                batch.stop(broker, partition, delete=True)
            states[partition, broker] = enter_replica(before, target)
            if target is ReplicaState.NON_EXISTENT:
                del states[partition, broker]
                known[partition] = replace(
                    at,
                    replicas=tuple(other for other in at.replicas if other != broker),
                    adding_replicas=tuple(other for other in at.adding_replicas if other != broker),
                    removing_replicas=tuple(other for other in at.removing_replicas if other != broker),
                )
    return Changed(replace(context, partitions=known, replica_states=states), batch.sent())


def _elected(context: Context, name: TopicPartition, strategy: Strategy) -> Partition | None:
    """The partition with the leader that the strategy finds, None if it finds none."""
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
    standing = context.live if strategy is Strategy.CONTROLLED_SHUTDOWN else context.online
    return tuple(broker for broker in partition.replicas if broker in standing)


def _replicas_on(context: Context, brokers: Collection[int]) -> list[Replica]:
    return [(partition, broker) for partition, known in context.partitions.items() for broker in known.replicas if broker in brokers]


# ---------------------------------------------------------------- whom it tells
def _tell_metadata(context: Context, brokers: Collection[int], partitions: Collection[TopicPartition]) -> Changed:
    batch = _Batch(context)
    batch.tell_metadata(brokers, [(partition, context.partitions[partition]) for partition in partitions])
    return Changed(context, batch.sent())


class _Batch:
    """Requests being gathered: the last word about a partition stands, and what was once new or to be deleted stays so."""

    __slots__ = ("context", "leader_and_isr", "metadata", "metadata_brokers", "stop_replica")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.leader_and_isr: dict[int, dict[TopicPartition, tuple[Partition, bool]]] = {}
        self.metadata_brokers: set[int] = set()
        self.metadata: dict[TopicPartition, tuple[Partition, tuple[int, ...]]] = {}
        self.stop_replica: dict[int, dict[TopicPartition, bool]] = {}

    def tell(self, brokers: Iterable[int], partition: TopicPartition, state: Partition, *, new: bool) -> None:
        for broker in brokers:
            told = self.leader_and_isr.setdefault(broker, {})
            told[partition] = (state, new or (partition in told and told[partition][1]))
        self.tell_metadata(self.context.live, [(partition, state)])

    def tell_metadata(self, brokers: Collection[int], partitions: Iterable[tuple[TopicPartition, Partition]]) -> None:
        self.metadata_brokers.update(brokers)
        for partition, state in partitions:
            if partition[0] in self.context.deleting:
                state = replace(state, leader=None, leader_epoch=0, partition_epoch=0)
            self.metadata[partition] = (state, tuple(broker for broker in state.replicas if broker not in self.context.online))

    def stop(self, broker: int, partition: TopicPartition, *, delete: bool) -> None:
        told = self.stop_replica.setdefault(broker, {})
        told[partition] = delete or told.get(partition, False)

    def sent(self) -> tuple[Requests, ...]:
        live = self.context.live
        requests = Requests(
            {broker: told for broker, told in self.leader_and_isr.items() if broker in live},
            {broker: dict(self.metadata) for broker in self.metadata_brokers & live},
            {broker: told for broker, told in self.stop_replica.items() if broker in live},
        )
        return () if requests == Requests() else (requests,)
