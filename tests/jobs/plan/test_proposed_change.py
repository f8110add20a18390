"""check-change: failures before and after a reassignment or new configs, without Spark."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.engine import DuckdbEngine
from jobs.errors import AuditError
from jobs.failure.cluster_state import cluster_states
from jobs.failure.counts import FailureCounts
from jobs.failure.election_inputs import election_inputs
from jobs.failure.harms_after import NightlyFailures
from jobs.plan.proposed_change import CheckedChange, PartitionKey, ProposedChange, check, parse_topic_configs, read_reassignment
from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC
from tests.jobs.command import Command
from tests.jobs.plan.clusters import Tables, cluster_on_three_racks, generated_cluster, published_lake

ALL_IN_SYNC = ([1, 3, 4], 1, [1, 3, 4])  # brokers 1 and 2 share a rack; min.insync.replicas is 2
CHECK = ("check-change", "--lake", ".", "--cluster", "c")


def checked(tables: Tables, *, replicas: dict[int, list[int]] | None = None, **configs: str) -> CheckedChange:
    """Check new replicas of partitions of topic t, by number, and new configs of the topic."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return check(
        tables, ProposedChange({PartitionKey("t", number): new for number, new in (replicas or {}).items()}, {"t": named} if named else {})
    )


def after(result: CheckedChange, harm: str) -> dict[str, tuple[int, int]]:
    """Return a count before and after the change, by failure but pairs, where it differs."""
    counts = {each.scenario_id: (getattr(each.before, harm), getattr(each.after, harm)) for each in result.failures if each.kind != "pairs"}
    return {name: pair for name, pair in counts.items() if pair[0] != pair[1]}


def test_fewer_replicas_make_each_death_among_them_refuse_acks_all() -> None:
    result = checked(cluster_on_three_racks([ALL_IN_SYNC, ALL_IN_SYNC]), replicas={1: [1, 3]})
    assert after(result, "refusing_acks_all") == {"broker 1": (0, 1), "broker 3": (0, 1), "rack a": (0, 1), "rack b": (0, 1)}
    worse = {each.scenario_id: [(one.topic, one.partition) for one in each.partitions] for each in result.worse}
    assert worse["broker 1"] == [("t", 1)]
    assert result.changed_partitions == 1


def test_two_replicas_in_one_rack_make_its_loss_worse_and_no_death_of_a_broker() -> None:
    result = checked(cluster_on_three_racks([ALL_IN_SYNC]), replicas={0: [1, 2, 4]})
    assert {each.scenario_id for each in result.worse} == {"rack a"}
    assert after(result, "refusing_acks_all") == {"rack a": (0, 1)}


def test_another_order_of_replicas_changes_no_failure() -> None:
    result = checked(cluster_on_three_racks([ALL_IN_SYNC]), replicas={0: [4, 3, 1]})
    assert (result.changed_partitions, result.failures) == (1, [])


def test_a_replica_more_makes_failures_better() -> None:
    result = checked(cluster_on_three_racks([([1, 3], 1, [1, 3])]), replicas={0: [1, 3, 4]})
    assert (result.worse, after(result, "refusing_acks_all")["broker 3"]) == ([], (1, 0))


def test_min_isr_of_all_replicas_refuses_acks_all_after_any_death_and_now_if_one_is_out_of_sync() -> None:
    tables = cluster_on_three_racks([ALL_IN_SYNC, ([1, 3, 4], 1, [1, 3])])
    result = checked(tables, min_insync_replicas="3")
    assert after(result, "refusing_acks_all")["no failure"] == (0, 1)
    assert after(result, "refusing_acks_all")["broker 4"] == (0, 2)


def test_unclean_election_changes_an_offline_partition_into_one_that_loses_records() -> None:
    tables = cluster_on_three_racks([([1, 3, 4], 1, [1])])
    tables |= {CLUSTER: pa.Table.from_pylist([row | {"elr": False} for row in tables[CLUSTER].to_pylist()], CLUSTER.schema)}
    result = checked(tables, unclean_leader_election_enable="true")
    assert after(result, "offline")["broker 1"] == (1, 0)
    assert after(result, "unclean_leader")["broker 1"] == (0, 1)
    assert "broker 1" in {each.scenario_id for each in result.worse}


def test_a_new_min_isr_clears_the_elr() -> None:
    # Broker 3 has left the ISR, but has all committed records: it can lead when broker 1 dies, unless the controller clears the ELR.
    tables = cluster_on_three_racks([([1, 3, 4], 1, [1])])
    partition = [row | {"elr": [3], "last_known_elr": []} for row in tables[PARTITION].to_pylist()]
    tables |= {PARTITION: pa.Table.from_pylist(partition, PARTITION.schema)}
    result = checked(tables, min_insync_replicas="3")
    assert after(result, "offline")["broker 1"] == (0, 1)
    assert after(result, "lost")["broker 1"] == (0, 1)


@pytest.mark.parametrize(
    ("partition", "target", "reason"),
    [
        (ALL_IN_SYNC, [1, 3, 2], "broker 2 is not live"),
        (([1, 3], None, []), [1, 4], "the partition has no leader"),
        (([1, 3, 4], 1, [1, 3]), [4], "broker 4 is not in the ISR"),
    ],
)
def test_a_reassignment_that_cannot_complete_names_the_reason_and_changes_nothing(
    partition: tuple[list[int], int | None, list[int]], target: list[int], reason: str
) -> None:
    result = checked(cluster_on_three_racks([partition], dead=(2,)), replicas={0: target})
    assert (result.incomplete, result.failures) == ({("t", 0): reason}, [])


@pytest.mark.parametrize("seed", range(2, 9))
def test_counts_after_a_change_are_those_of_a_cluster_with_these_replicas_from_the_start(seed: int) -> None:
    tables, rng = generated_cluster(seed), random.Random(seed)
    live = [row["broker_id"] for row in tables[BROKER].to_pylist() if row["live"]]
    in_sync = [
        row | {"isr": sorted(row["replicas"]), "leader": row["replicas"][0]}
        for row in tables[PARTITION].to_pylist()
        if set(row["replicas"]) <= set(live)
    ]
    target = {index: rng.sample(live, min(len(live), rng.randint(1, 4))) for index in rng.sample(range(len(in_sync)), min(len(in_sync), 8))}
    moved = [
        row | {"replicas": target[index], "isr": sorted(target[index]), "leader": target[index][0]} if index in target else row
        for index, row in enumerate(in_sync)
    ]
    factors = {row["topic"]: len(row["replicas"]) for row in moved if row["partition"] == 0}
    topics = [row | {"replication_factor": factors.get(row["topic"], row["replication_factor"])} for row in tables[TOPIC].to_pylist()]
    change = ProposedChange({PartitionKey(in_sync[index]["topic"], in_sync[index]["partition"]): new for index, new in target.items()}, {})
    result = check(tables | {PARTITION: pa.Table.from_pylist(in_sync, PARTITION.schema)}, change)
    (state,) = cluster_states(tables[CLUSTER].to_pylist(), tables[BROKER].to_pylist()).values()
    inputs = election_inputs(
        DuckdbEngine(), pa.Table.from_pylist(moved, PARTITION.schema), pa.Table.from_pylist(topics, TOPIC.schema), [state]
    )
    failures = NightlyFailures(state)
    expected = sum(failures.totals(batch) for batch in inputs.toArrow().to_batches())
    names = ["no failure", *(scenario.scenario_id for scenario in failures.scenarios)]
    single = [each for each in result.failures if each.kind != "pairs"]
    assert single
    assert {each.scenario_id: list(each.after) for each in single} == {
        each.scenario_id: expected[names.index(each.scenario_id)].tolist() for each in single
    }
    assert result.incomplete == {}


def test_totals_are_those_of_the_scenarios_of_a_night() -> None:
    """On a cluster without harm before a failure, the totals are the counts of new harm that a night computes."""
    tables = cluster_on_three_racks([ALL_IN_SYNC, ([2, 3, 4], 2, [2, 3, 4]), ([1, 2, 3], 1, [1, 2, 3])])
    (state,) = cluster_states(tables[CLUSTER].to_pylist(), tables[BROKER].to_pylist()).values()
    counts = FailureCounts(state)
    (batch,) = election_inputs(DuckdbEngine(), tables[PARTITION], tables[TOPIC], [state]).toArrow().to_batches()
    counts.add(batch)
    failures = NightlyFailures(state)
    totals = {scenario.scenario_id: row for scenario, row in zip(failures.scenarios, failures.totals(batch)[1:].tolist(), strict=True)}
    night = {each.scenario_id: each.before for each in counts.compare(counts) if each.scenario_id in totals}
    assert totals == {name: [each.newly_lost, 0, each.newly_offline, each.newly_refusing_acks_all] for name, each in night.items()}
    assert totals["rack a"][-1] == 1


def test_a_repair_of_a_partition_that_refuses_writes_already_makes_no_failure_worse() -> None:
    # Broker 4 is out of sync in the first partition, which refuses acks=all with min.insync.replicas=3 before and after every death.
    tables = cluster_on_three_racks([([1, 3, 4], 1, [1, 3])])
    topics = [row | {"min_insync_replicas": 3} for row in tables[TOPIC].to_pylist()]
    result = checked(tables | {TOPIC: pa.Table.from_pylist(topics, TOPIC.schema)}, replicas={0: [1, 3, 4, 2]})
    assert (result.worse, after(result, "refusing_acks_all")["no failure"]) == ([], (1, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (ProposedChange({PartitionKey("tt", 0): [1]}, {}), "cluster c has no topic tt; did you mean t?"),
        (ProposedChange({PartitionKey("t", 9): [1]}, {}), "cluster c has no partition t-9"),
        (ProposedChange({PartitionKey("t", 0): [9]}, {}), "cluster c has no broker 9: it has 1, 2, 3, 4"),
    ],
)
def test_an_impossible_change_names_what_the_cluster_does_not_have(change: ProposedChange, message: str) -> None:
    with pytest.raises(AuditError) as raised:
        check(cluster_on_three_racks([ALL_IN_SYNC]), change)
    assert str(raised.value) == message


def test_a_partition_that_is_being_reassigned_is_refused() -> None:
    tables = cluster_on_three_racks([ALL_IN_SYNC])
    partition = [row | {"adding_replicas": [4]} for row in tables[PARTITION].to_pylist()]
    with pytest.raises(AuditError, match="1 partitions are being reassigned, for example t-0"):
        checked(tables | {PARTITION: pa.Table.from_pylist(partition, PARTITION.schema)}, replicas={0: [1, 2, 3]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"version":1,"partitions":[]}', "proposes no replicas"),
        ('{"version":1,"topics":[{"topic":"t"}]}', "names topics or partitions without replicas"),
        ('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}', "line 1"),
        ("not a plan", "line 1"),
    ],
)
def test_a_file_that_is_no_reassignment_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (file := tmp_path / "r.json").write_text(content)
    with pytest.raises(AuditError, match=message):
        read_reassignment(file)


def test_the_output_of_generate_is_read_as_its_proposal(tmp_path: Path) -> None:
    current = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    (file := tmp_path / "r.txt").write_text(
        f"Current partition replica assignment\n{current}\n\nProposed partition reassignment configuration\n{current.replace('2', '3')}\n"
    )
    assert read_reassignment(file) == {("t", 0): (1, 3)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t", "must be TOPIC:NAME=VALUE"),
        ("t:min.insync.replica=2", "did you mean min.insync.replicas?"),
        ("t:min.insync.replicas=0", "must be a whole number, 1 or more"),
        ("t:unclean.leader.election.enable=maybe", "must be true or false"),
    ],
)
def test_a_config_that_is_not_valid_is_refused(text: str, message: str) -> None:
    with pytest.raises(AuditError) as raised:
        parse_topic_configs([text])
    assert message in str(raised.value)


def test_the_command_prints_the_failures_and_exits_with_4_if_one_gets_worse(tmp_path: Path, command: Command) -> None:
    published_lake(cluster_on_three_racks([ALL_IN_SYNC]), tmp_path)
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3]}]}
    Path("r.json").write_text(json.dumps(plan))
    result = command.run(*CHECK, "--reassignment", "r.json")
    assert result.returncode == 4
    assert result.stdout.splitlines()[0].startswith("Cluster c of s: 1 partition would change. ")
    assert any("broker 1" in line and "0 → 1" in line and "t-0" in line for line in result.stdout.splitlines())
    assert result.stderr.startswith("topology-audit: the change makes it worse: ")
    document = json.loads(command.run(*CHECK, "--reassignment", "r.json", "--format", "json").stdout)
    assert (document["worse"], document["changed_partitions"]) == (True, 1)
    (broker,) = (each for each in document["failures"] if each["scenario_id"] == "broker 1")
    assert (broker["before"]["refusing_acks_all"], broker["after"]["refusing_acks_all"]) == (0, 1)
    assert [(each["topic"], each["partition"]) for each in broker["partitions"]] == [("t", 0)]


def test_the_command_exits_with_0_if_no_failure_gets_worse(tmp_path: Path, command: Command) -> None:
    published_lake(cluster_on_three_racks([ALL_IN_SYNC]), tmp_path)
    result = command.run(*CHECK, "--topic-config", "t:min.insync.replicas=2")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.strip() == "Cluster c of s: 0 partitions would change. No failure harms more or fewer partitions."


def test_the_command_needs_a_change(tmp_path: Path, command: Command) -> None:
    assert "check-change needs a change" in command.run(*CHECK).stderr
