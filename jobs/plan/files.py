"""Files of a stored plan for Kafka's own tools: a reassignment and a rollback for each wave, the preferred election, and the commands."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.schema import PLAN, PLAN_MOVE
from jobs.schema.plan import unchecked_limits
from jobs.snapshot import Snapshot

Row = Mapping[str, Any]


def write_files(snapshot: Snapshot, cluster_id: str, plan_id: str, folder: Path) -> list[Path]:
    """Write the files of a stored plan; return their paths, the commands last. Delete files of an earlier plan in the folder.

    A plan that leaves something undone and also makes something worse gets no files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("reassignment-*.json", "rollback-*.json", "preferred-election.json", "commands.txt"):
        for old_file in folder.glob(pattern):
            old_file.unlink()
    (plan,) = snapshot.read_local(PLAN, cluster_id=cluster_id, plan_id=plan_id).to_pylist()
    if plan["unfulfilled"] is not None and plan["worse"] is not None:
        return []
    moves = snapshot.read_local(PLAN_MOVE, cluster_id=cluster_id, plan_id=plan_id).to_pylist()
    moves.sort(key=lambda move: (move["topic"], move["partition"]))
    documents = {}
    for wave, moves_of_wave in _by_wave(moves).items():
        documents[f"reassignment-{wave}.json"] = _reassignment(moves_of_wave, "replicas")
        documents[f"rollback-{wave}.json"] = _reassignment(moves_of_wave, "replicas_before")
    if elected := _elected(moves):
        documents["preferred-election.json"] = _document({}, [{"topic": move["topic"], "partition": move["partition"]} for move in elected])
    for name, document in documents.items():
        (folder / name).write_text(document, encoding="utf-8")
    commands_file = folder / "commands.txt"
    commands_file.write_text("".join(f"{line}\n" for line in commands(plan, moves)), encoding="utf-8")
    return [*(folder / name for name in documents), commands_file]


def commands(plan: Row, moves: Sequence[Row]) -> list[str]:
    """Return the commands to run in the folder of the files, in order; copying is throttled if the network's capacity is known."""
    throttle = plan["throttle_bytes_per_s"]
    lines = [] if plan["unfulfilled"] is None else [f"# NOT FULFILLED: {plan['unfulfilled']}"]
    lines.append("# Run one wave at a time: continue when --verify reports every reassignment as completed. It also removes the throttle.")
    if throttle is None:
        lines.append("# Without a throttle: not all network capacities are known.")
    elif throttle < 1:
        share = json.loads(plan["request"])["network_share"]
        lines.append(f"# Without a throttle: broker {plan['throttle_broker_id']} is over {share:g} of its network already.")
    lines += [f"# {sentence}" for sentence in unchecked_limits(plan)]
    tool = "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT"
    for wave, moves_of_wave in _by_wave(moves).items():
        copied = sum(len(move["added_replicas"]) for move in moves_of_wave)
        throttle_option = f" --throttle {math.floor(throttle)}" if copied and throttle is not None and throttle >= 1 else ""
        lines.append(f"# wave {wave}: {copied} replicas are copied" if copied else f"# wave {wave}: leadership only")
        lines.append(f"{tool} --reassignment-json-file reassignment-{wave}.json --execute{throttle_option}")
        lines.append(f"{tool} --reassignment-json-file reassignment-{wave}.json --verify")
    if _elected(moves):
        election = "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred"
        lines.append(f"{election} --path-to-json-file preferred-election.json")
    return lines


def _by_wave(moves: Sequence[Row]) -> dict[int, list[Row]]:
    by_wave: dict[int, list[Row]] = {wave: [] for wave in sorted({move["wave"] for move in moves})}
    for move in moves:
        by_wave[move["wave"]].append(move)
    return by_wave


def _elected(moves: Sequence[Row]) -> list[Row]:
    """Return the moves that need a preferred election."""
    return [move for move in moves if move["leader_before"] != move["replicas"][0]]


def _reassignment(moves: Sequence[Row], replicas: str) -> str:
    """Return a wave in the format of kafka-reassign-partitions.sh, with the replicas of this column."""
    entries = [{"topic": move["topic"], "partition": move["partition"], "replicas": move[replicas]} for move in moves]
    return _document({"version": 1}, entries)


def _document(header: Row, partitions: Sequence[Row]) -> str:
    """Return a JSON document with a line for each partition."""
    lines = ",\n".join(json.dumps(entry) for entry in partitions)
    start = "".join(f"{json.dumps(name)}: {json.dumps(value)}, " for name, value in header.items())
    return f'{{{start}"partitions": [\n{lines}\n]}}\n'
