"""What a person reads: the verdicts of a night, and the answer to a what-if, on the terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jobs.lake.publication import NO_FOLDER, NOTHING_READABLE, WITHHELD
from jobs.schema import BESIDE, FOLDER
from jobs.schema.harm import MUST_BE_ZERO, SURVIVES

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

HARM_WORDS = {"newly_offline": "offline", "newly_refusing_acks_all": "refuse acks=all", "newly_lost": "lose data"}
OFFENDERS = "SELECT cluster_id, scenario_id, topic, partition, trouble FROM harmed_partition"  # what to ask next
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 1.5rem; background: #fff; color: #1c1e21; font-family: system-ui, sans-serif }}
pre {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; line-height: 1.25; overflow-x: auto }}
h2 {{ font-size: 1.05rem; margin-top: 2rem }}
table {{ border-collapse: collapse; font-size: 13px }} th, td {{ padding: .2rem .5rem; text-align: right; border: 1px solid #e4e6ea }}
th {{ font-weight: 600; background: #f6f7f9 }} tr > th:first-child {{ text-align: left }}
.gone {{ background: #444; color: #fff; text-align: center }} .harm {{ background: #d33c3c; color: #fff }} .none {{ color: #999 }}
.night {{ width: 1rem; height: 1.2rem }}
{stylesheet}</style></head>
<body><h1>{title}</h1>{links}<pre>{code}</pre><!--pictures--></body></html>
"""


def verdicts(connection: DuckdbViews, snapshot_id: str) -> list[RenderableType]:
    """What each cluster survives and how even it is, a line each; then the rules that are broken."""
    table = Table(title=f"Verdicts of {snapshot_id}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("cluster", "survives\nany broker?", "a rolling\nrestart?", "any rack?", "any two\nbrokers?"):
        table.add_column(name, overflow="fold")
    table.add_column("broken\nrules", justify="right")
    answer = connection.execute(
        "SELECT v.*, c.controller FROM verdict v LEFT JOIN cluster c ON c.snapshot_id = v.snapshot_id AND c.cluster_id = v.cluster_id "
        "WHERE v.snapshot_id = ? ORDER BY v.cluster_id",
        [snapshot_id],
    )
    names = [column[0] for column in answer.description or ()]
    for row in answer.fetchall():
        verdict = dict(zip(names, row, strict=True))
        live, brokers, broken = verdict["live_brokers"], verdict["brokers"], verdict["broken_rules"]
        name = (
            Text(verdict["cluster_id"]).append(f"\n{live} of {brokers} live", "red" if live < brokers else "dim").append(_quorum(verdict))
        )
        table.add_row(name, *(_survives(verdict, kind) for kind in SURVIVES), Text(str(broken), "yellow" if broken else "green"))
    balance = _rows(
        connection,
        "How even",
        {"cluster": "left", **dict.fromkeys(("leaders", "bytes", "producers", "consumers"), "right")},
        "SELECT cluster_id, coalesce(format('{:.2f}', leader_skew), '-'), coalesce(format('{:.2f}', byte_skew), '-'), "
        "coalesce(format('{:.2f}', producer_skew), '-'), coalesce(CAST(consumer_spread AS VARCHAR), '-') "
        "FROM verdict WHERE snapshot_id = ? ORDER BY cluster_id",
        [snapshot_id],
    )
    notes = Text(
        "Each cell names the worst failure for data, for reads and for writes, with what it does itself. Offline: without a leader. Refuse "
        "acks=all: with a leader, but too few replicas in sync. Lose data: no replica with every acknowledged record is left. Quorum at risk: "
        "one broker's death leaves too few controllers to elect a leader. Leaders, bytes: the most loaded broker over the mean. Producers: the most "
        "loaded partition of the worst topic over its mean. Consumers: the most partitions of a group's member less the fewest. "
        "-: not in the dumps.\n",
        "dim",
    )
    costs = _rows(
        connection,
        "If the worst broker dies (for writes; if none harms these, for data)",
        {
            "cluster": "left",
            "broker": "right",
            "bytes\nat risk": "right",
            "records with\nnowhere to go": "right",
            "groups\naffected": "right",
            "members\nstranded": "right",
            "fullest survivor,\nnetwork used": "right",
            "leaders gained,\nover the mean": "right",
        },
        "SELECT s.cluster_id, s.brokers[1], CASE WHEN at_risk_unknown = 0 THEN CAST(at_risk_size_bytes AS VARCHAR) ELSE '-' END, "
        "coalesce(format('{:.1f}%', 100 * undeliverable_share), '-'), coalesce(CAST(affected_groups AS VARCHAR), '-'), "
        "coalesce(CAST(stranded_members AS VARCHAR), '-'), coalesce(format('{}: {:.0f}%', fullest_survivor, 100 * fullest_survivor_share), '-'), "
        "coalesce(format('{}: {:.1f}', busiest_survivor, concentration), '-') "
        "FROM verdict v JOIN scenario s ON s.snapshot_id = v.snapshot_id AND s.cluster_id = v.cluster_id AND s.scenario_set = 'nightly' "
        "AND s.scenario_id = coalesce(v.worst_broker_writes, v.worst_broker_data) WHERE v.snapshot_id = ? ORDER BY 1",
        [snapshot_id],
    )
    changes = _rows(
        connection,
        "Since the night before",
        {"cluster": "left", "failure": "left", "is": "left", **dict.fromkeys(HARM_WORDS.values(), "right"), "because": "left"},
        "SELECT cluster_id, scenario_id, change, format('{:+d}', offline_change), format('{:+d}', refusing_acks_all_change), "
        "format('{:+d}', lost_change), coalesce(cause, '') "
        "FROM survival_change WHERE snapshot_id = ? ORDER BY change = 'newly fatal' DESC, lost_change DESC, offline_change DESC, "
        "refusing_acks_all_change DESC, 1, 2 LIMIT 20",
        [snapshot_id],
    )
    differences = _rows(
        connection,
        "What changed since the night before",
        {"cluster": "left", "what": "left", "how many": "right", "because": "left", "such as": "left"},
        "SELECT cluster_id, kind, changes, coalesce(cause, ''), example FROM change_summary WHERE snapshot_id = ? AND kind NOT LIKE 'member %' "
        "ORDER BY cause IS NOT NULL, cluster_id, changes DESC, kind, cause LIMIT 30",
        [snapshot_id],
    )
    offences = _rows(
        connection,
        "Broken rules, by cluster: how many rows break what must hold",
        {"cluster": "left", "rows": "right", "what must hold, and the rule's name": "left"},
        "SELECT cluster_id, broken_rows, sentence || ' ' || suite || '.' || rule FROM broken_rule "
        "WHERE snapshot_id = ? AND result = 'broken' ORDER BY 1, broken_rows DESC, 3",
        [snapshot_id],
    )
    told = [rows for rows in (costs, changes, differences) if rows.row_count]
    return [table, balance, notes, *told, offences]


_MOST_FILES = 20
_SHOWN = 5  # rules, files and rejected entries of an absent cluster: the views named beside them have all
_RESTORE = "Put its dumps back, or acknowledge that it is gone: --retired {}, in Airflow the Variable topology_retired_clusters."
_MEND_FOLDER = "Mend or replace these files, or remove the folder."
_MEND_DUMPS = "Bad input: the dumps lack what the rule needs, or contradict themselves. Mend or complete them, then run the night again."
_BUG = (
    "A computed table contradicts itself or its input: a bug of this project, not of the dumps. Report it with the rule and the row above."
)
_RUN_CHECKS = "Run the checks that are missing, then publish again."


def absent_clusters(connection: DuckdbViews, snapshot_id: str) -> list[tuple[str, str, str, str | None]]:
    """Of each cluster that a night does not publish: its id, the reason, the first cause, and its last published night."""
    return connection.execute(
        "SELECT cluster_id, reason, detail, last_snapshot_id FROM absent_cluster WHERE snapshot_id = ? ORDER BY 1", [snapshot_id]
    ).fetchall()


def absent(connection: DuckdbViews, snapshot_id: str) -> list[RenderableType]:
    """Why each absent cluster is absent, from which file, and what to do about it."""
    clusters = absent_clusters(connection, snapshot_id)
    if not clusters:
        return []
    parts: list[RenderableType] = [
        Text(f"Absent from {snapshot_id}: {len(clusters)} cluster{'' if len(clusters) == 1 else 's'}\n", "bold red")
    ]
    for cluster_id, reason, detail, last in clusters:
        causes = {NO_FOLDER: _no_folder, NOTHING_READABLE: _nothing_readable, WITHHELD: _withheld}[reason]
        seen = f"Readers still see {last}." if last else "It was never published."
        parts.append(Text(f"{cluster_id}: {reason}", "bold"))
        parts += [Padding(Text(line), (0, 0, 0, 2)) for line in (seen, *causes(connection, snapshot_id, cluster_id, detail))]
        parts.append(Text())
    return parts


def _no_folder(connection: DuckdbViews, snapshot_id: str, cluster_id: str, detail: str) -> Iterator[str]:
    yield f"{detail[0].upper()}{detail[1:]}."
    yield _RESTORE.format(cluster_id)


def _nothing_readable(connection: DuckdbViews, snapshot_id: str, cluster_id: str, detail: str) -> Iterator[str]:
    yield from _rejected(connection, snapshot_id, cluster_id) or [f"{detail[0].upper()}{detail[1:]}."]
    yield _MEND_FOLDER


def _withheld(connection: DuckdbViews, snapshot_id: str, cluster_id: str, detail: str) -> Iterator[str]:
    """The hard rules that a cluster breaks, with the dumps that its rows come from if these are the cause."""
    broken = connection.execute(
        "SELECT gate, suite || '.' || rule, sentence, broken_rows, example FROM all_validation "
        "WHERE snapshot_id = ? AND cluster_id = ? AND severity = 'hard' AND NOT success ORDER BY gate <> 'ingest', 2",
        [snapshot_id, cluster_id],
    ).fetchall()
    if not broken:
        yield f"{detail[0].upper()}{detail[1:]}."
        yield _RUN_CHECKS
        return
    for _, rule, sentence, rows, example in broken[:_SHOWN]:
        yield f"{rule}: {sentence} {rows} row{' breaks' if rows == 1 else 's break'} it, such as {example}"
    if len(broken) > _SHOWN:
        yield f"and {len(broken) - _SHOWN} more hard rules (view all_validation)"
    if broken[0][0] != "ingest":  # the rules of every later gate look at computed tables
        yield _BUG
        return
    files = connection.execute(
        "SELECT file, coalesce(format, 'unknown format'), accepted FROM all_input_file "
        "WHERE snapshot_id = ? AND cluster_id = ? ORDER BY format IS NULL, file",
        [snapshot_id, cluster_id],
    ).fetchall()
    names = [f"{file} ({format}, {accepted} accepted)" for file, format, accepted in files[:_SHOWN]]
    yield f"Its files: {', '.join(names)}" + (f", and {len(files) - _SHOWN} more (view all_input_file)" if len(files) > _SHOWN else "")
    yield from _rejected(connection, snapshot_id, cluster_id)
    yield _MEND_DUMPS


def _rejected(connection: DuckdbViews, snapshot_id: str, cluster_id: str) -> list[str]:
    """The first entries of a cluster's dumps that were rejected, a line each."""
    rows = connection.execute(
        "SELECT file, line, reason, count(*) OVER () FROM all_rejected_input WHERE snapshot_id = ? AND cluster_id = ? "
        f"ORDER BY file, line, entry LIMIT {_SHOWN}",
        [snapshot_id, cluster_id],
    ).fetchall()
    lines = [f"Rejected: {reason if file == FOLDER else f'{file}, line {line}: {reason}'}" for file, line, reason, _ in rows]
    more = rows[0][3] - len(rows) if rows else 0
    return [*lines, f"and {more} more rejected entries (view all_rejected_input)"] if more else lines


def unread_files(connection: DuckdbViews, snapshot_id: str) -> list[tuple[str, str]]:
    """The files of a night of which nothing was read, each with its reason."""
    rows = connection.execute(
        "SELECT f.cluster_id, f.file, r.reason FROM all_input_file f JOIN all_rejected_input r ON r.snapshot_id = f.snapshot_id "
        "AND r.cluster_id = f.cluster_id AND r.file = f.file WHERE f.snapshot_id = ? AND f.format IS NULL ORDER BY ALL",
        [snapshot_id],
    ).fetchall()
    return [(file if cluster_id == BESIDE else f"{cluster_id}/{file}", reason) for cluster_id, file, reason in rows]


def unread(connection: DuckdbViews, snapshot_id: str) -> list[RenderableType]:
    """The files of which nothing was read, a line each; of many the first."""
    files = unread_files(connection, snapshot_id)
    if not files:
        return []
    text = Text(f"Files that were not read: {len(files)}\n")
    for name, reason in files[:_MOST_FILES]:
        text.append(f"  {name}: {reason}\n")
    if len(files) > _MOST_FILES:
        text.append(f"  and {len(files) - _MOST_FILES} more (view all_rejected_input)\n")
    return [text]


def pictures(connection: DuckdbViews, snapshot_id: str) -> str:
    """What each failure does to each survivor, and whether each night would have survived the loss of any one broker."""
    return "".join([*_matrices(connection, snapshot_id), _nights(connection, snapshot_id)])


def _matrices(connection: DuckdbViews, snapshot_id: str) -> Iterator[str]:
    """A table for each cluster: failures down, survivors across, the leaders that each has then; its worst failures, if they are many."""
    clusters = connection.execute("SELECT cluster_id FROM snapshot WHERE snapshot_id = ? ORDER BY 1 LIMIT 50", [snapshot_id]).fetchall()
    for (cluster,) in clusters:
        of = [snapshot_id, cluster]
        where = "WHERE snapshot_id = ? AND cluster_id = ?"
        brokers = connection.execute(f"SELECT broker_id, leaders FROM broker_balance {where} AND live ORDER BY 1 LIMIT 60", of).fetchall()
        failures = connection.execute(
            f"SELECT scenario_id, brokers, {', '.join(HARM_WORDS)} FROM scenario {where} AND scenario_set = 'nightly' AND kind <> 'stop' "
            "ORDER BY kind, newly_lost DESC, newly_offline DESC, newly_refusing_acks_all DESC, brokers, scenario_id LIMIT 80",
            of,
        ).fetchall()
        taken = {
            (failure, broker): after
            for failure, broker, after in connection.execute(
                f"SELECT scenario_id, broker_id, leaders_after FROM takeover {where} AND scenario_set = 'nightly'", of
            ).fetchall()
        }
        mean = sum(leaders for _, leaders in brokers) / max(len(brokers), 1) or 1
        yield f"<h2>{escape(cluster)}: the leaders that each survivor has after a failure</h2><table><tr><th>failure</th>"
        yield "".join(f"<th>{broker}</th>" for broker, _ in brokers) + "".join(f"<th>{word}</th>" for word in HARM_WORDS.values()) + "</tr>"
        yield (
            "<tr><th>now</th>" + "".join(_cell(leaders, leaders / mean) for _, leaders in brokers) + "<td></td>" * len(HARM_WORDS) + "</tr>"
        )
        for failure, gone, *counts in failures:
            cells = (
                "<td class=gone>&times;</td>"
                if broker in gone
                else _cell(taken.get((failure, broker), leaders), taken.get((failure, broker), leaders) / mean)
                for broker, leaders in brokers
            )
            harm = "".join(f"<td class={'harm' if count else 'none'}>{count}</td>" for count in counts)
            yield f"<tr><th>{escape(failure)}</th>{''.join(cells)}{harm}</tr>"
        yield "</table>"


def _cell(leaders: int, ratio: float) -> str:
    """The fuller the darker: white at the mean, red at three times it."""
    fade = round(255 - 155 * min(max((ratio - 1) / 2, 0), 1))
    return f'<td style="background:rgb(255,{fade},{fade})">{leaders}</td>'


def _nights(connection: DuckdbViews, snapshot_id: str) -> str:
    """A square for each cluster and night up to this one: green if it survives the loss of any one broker, for reads, writes and data."""
    rows = connection.execute(
        "SELECT cluster_id, snapshot_id, list(harm) FILTER (WHERE NOT survives) FROM survival WHERE kind = 'broker' AND snapshot_id <= ? "
        "AND snapshot_id IN (SELECT DISTINCT snapshot_id FROM snapshot WHERE snapshot_id <= ? ORDER BY 1 DESC LIMIT 60) GROUP BY 1, 2 ORDER BY 1, 2",
        [snapshot_id, snapshot_id],
    ).fetchall()
    nights = sorted({row[1] for row in rows})
    squares_of = {
        "": ("#2e9e5b", "survives"),
        "writes": ("#e6a817", "refuses acks=all"),
        "reads": ("#d33c3c", "goes offline"),
        "data": ("#7a1f1f", "loses data"),
        None: ("#ddd", "not published"),
    }
    worst = {(cluster, night): next((harm for harm in MUST_BE_ZERO if harm in (harms or ())), "") for cluster, night, harms in rows}
    lines = []
    for cluster in sorted({row[0] for row in rows}):
        squares = []
        for night in nights:
            colour, word = squares_of[worst.get((cluster, night))]
            squares.append(f'<td class=night style="background:{colour}" title="{escape(night)}: {word}"></td>')
        lines.append(f"<tr><th>{escape(cluster)}</th>{''.join(squares)}</tr>")
    legend = " ".join(f'<span style="color:{colour}">■</span> {word}' for colour, word in squares_of.values())
    return f"<h2>The loss of any one broker, night by night ({len(nights)})</h2><table>{''.join(lines)}</table><p>{legend}</p>"


def what_if(connection: DuckdbViews, snapshot_id: str, cluster_id: str, id: str) -> list[RenderableType]:
    """The outcome of a what-if: in a sentence, by partition, by survivor."""
    ask = [snapshot_id, cluster_id, id]
    where = "WHERE snapshot_id = ? AND cluster_id = ? AND scenario_set = ?"
    names = ("cluster_id", "brokers", "log_dirs", "unclean", "controlled_shutdown", "partitions", "moved_leaders", "newly_offline", "newly_refusing_acks_all",
             "at_min_isr", "unclean_leaders", "no_replica_left", "quorum_lost", "at_risk_size_bytes", "at_risk_unknown", "undeliverable_records", "undeliverable_share",
             "redirected_records", "affected_groups", "stranded_members", "moved_coordinators", "lost_coordinators", "metadata_records",
             "leader_and_isr_requests", "update_metadata_requests", "controller_moves")  # fmt: skip
    row = connection.execute(f"SELECT {', '.join(names)} FROM scenario {where}", ask).fetchone()
    said = dict(zip(names, row or (), strict=True))
    how = "stopped in order" if said["controlled_shutdown"] else "killed"
    election = {None: "as each topic's config says", True: "allowed", False: "forbidden"}[said["unclean"]]
    who = [f"brokers {', '.join(map(str, said['brokers']))} {how}"] if said["brokers"] else []
    who += [f"log dirs {', '.join(said['log_dirs'])} failed"] if said["log_dirs"] else []
    question = Text(f"Cluster {said['cluster_id']} of {snapshot_id}: {', '.join(who)}, unclean election {election}.\n", "bold")
    bad = said["newly_offline"] or said["newly_refusing_acks_all"]
    outcome = Text(
        f"{said['partitions']} partitions have a replica there. {said['newly_offline']} go offline, {said['newly_refusing_acks_all']} others keep a leader "
        f"but refuse acks=all, {said['at_min_isr']} are left at min ISR, {said['moved_leaders']} get another leader ({said['unclean_leaders']} uncleanly, losing records).\n",
        "red" if bad else "green",
    )
    costs = Text(" ".join(_costs(said)) + "\n")
    partitions = _rows(
        connection,
        "Partitions that change leader or stop taking writes (the first 200)",
        {name: "left" for name in ("topic", "partition", "leader", "ISR", "ELR", "election", "outcome")},
        "SELECT topic, partition, coalesce(CAST(leader_before AS VARCHAR), 'none') || ' -> ' || coalesce(CAST(leader AS VARCHAR), 'none'), "
        "CAST(isr_before AS VARCHAR) || ' -> ' || CAST(isr AS VARCHAR), coalesce(CAST(elr AS VARCHAR), ''), election, "
        "CASE WHEN leader IS NULL THEN 'no leader' WHEN under_min_isr THEN 'under min ISR (' || CAST(min_insync_replicas AS VARCHAR) || ')' "
        "WHEN at_min_isr THEN 'at min ISR' ELSE 'in service' END "
        f"FROM failover {where} AND (leader IS NULL OR under_min_isr OR leader IS DISTINCT FROM leader_before) "
        "ORDER BY leader IS NOT NULL, NOT under_min_isr, topic, partition LIMIT 200",
        ask,
    )
    survivors = _rows(
        connection,
        "Who takes over",
        {"broker": "right", "leads now": "right", "gains": "right", "leads then": "right", "sampled records gained": "right"},
        f"SELECT broker_id, leaders_before, gained_leaders, leaders_after, coalesce(CAST(gained_records AS VARCHAR), 'unknown') FROM takeover {where} ORDER BY 1",
        ask,
    )
    return [question, outcome, costs, partitions, survivors]


def _costs(said: Mapping[str, Any]) -> Iterator[str]:
    """What else a failure does, a sentence each, as far as it is told."""
    if said["quorum_lost"]:
        yield "The controllers lose their quorum: from then on nobody is elected, and no dead replica leaves its ISR."
    elif said["controller_moves"]:
        yield "The active controller is among them: another takes over first."
    unknown = f", and of {said['at_risk_unknown']} partitions it is unknown" if said["at_risk_unknown"] else ""
    yield f"{said['at_risk_size_bytes']} bytes are on lost leaders alone{unknown}."
    if said["undeliverable_records"] is not None:
        yield f"Of the sampled records {said['undeliverable_records']} ({100 * (said['undeliverable_share'] or 0):.1f}%) have nowhere to go, {said['redirected_records']} without a key go elsewhere."
    if said["affected_groups"] is not None:
        yield f"{said['affected_groups']} consumer groups read a partition that goes offline" + (
            f", {said['stranded_members']} members read nothing any more." if said["stranded_members"] is not None else "."
        )
    if said["moved_coordinators"] is not None:
        yield f"{said['moved_coordinators']} groups get another coordinator, {said['lost_coordinators']} have none."
    if said["metadata_records"] is not None:
        yield f"The controller writes {said['metadata_records']} records."
    elif said["leader_and_isr_requests"] is not None:
        yield f"The controller sends {said['leader_and_isr_requests']} LeaderAndIsr and {said['update_metadata_requests']} UpdateMetadata requests."


def plan(connection: DuckdbViews, snapshot_id: str, cluster_id: str, id: str) -> list[RenderableType]:
    """What a plan moves, in waves, and each goal, rule and failure before and after it; first of all what it cannot do."""
    from jobs.plan.plan import unchecked

    ask, where = [snapshot_id, cluster_id, id], "WHERE snapshot_id = ? AND cluster_id = ? AND plan_id = ?"
    names = ("cluster_id", "changed_partitions", "moved_replicas", "moved_bytes", "leadership_changes", "elections", "waves", "minimum_moves",
             "blocked_replicas", "throttle_bytes_per_s", "harmed_before", "harmed", "throttle_broker_id", "throttle_load_source", "unfulfilled",
             "worse", "left_out", "score_before", "score", "disk_limit", "disk_unknown_brokers", "size_unknown_partitions",
             "load_unknown_brokers")  # fmt: skip
    row = connection.execute(f"SELECT {', '.join(names)} FROM plan {where}", ask).fetchone()
    said = dict(zip(names, row or (), strict=True))
    moved = "" if said["moved_bytes"] is None else f" ({said['moved_bytes'] / 2**30:.2f} GiB)"
    throttle = said["throttle_bytes_per_s"]
    summary = Text(
        f"Cluster {said['cluster_id']} of {snapshot_id}: {said['moved_replicas']} replicas are copied{moved} in {said['waves']} waves, "
        f"{said['leadership_changes']} partitions change leadership alone, {said['elections']} need a preferred election. "
        f"To make counts equal to within one would take {said['minimum_moves']} moves. "
        + (
            "No throttle: network capacities are unknown. "
            if throttle is None
            else f"Throttle: {throttle:.0f} bytes/s, for broker {said['throttle_broker_id']} (its current load: {said['throttle_load_source']}). "
            if throttle >= 1
            else f"No throttle keeps broker {said['throttle_broker_id']} under the share asked for: it is over it already. "
        )
        + f"Disks are filled to at most {said['disk_limit']:g} of their capacity, old and new copies together. "
        + f"Partitions that one broker's death harms: {said['harmed_before']} now, {said['harmed']} then. "
        + f"Balancedness score: {said['score_before']:.1f} now, {said['score']:.1f} then."
        + (f" {said['blocked_replicas']} replicas cannot be moved: see below.\n" if said["blocked_replicas"] else "\n"),
        "bold",
    )
    warnings = []
    if said["unfulfilled"] is not None:
        withheld = "; the files are not written, because the part that can be done makes something worse" if said["worse"] else ""
        warnings.append(Text(f"NOT FULFILLED: {said['unfulfilled']}{withheld}.\n", "bold red"))
    if said["left_out"] is not None:
        warnings.append(Text(f"Left out because it would make something worse: {said['left_out']}.\n", "yellow"))
    if said["worse"] is not None:
        warnings.append(Text(f"Worse than now: {said['worse']}.\n", "yellow"))
    notes = [Text(f"{line}\n", "yellow") for line in unchecked(said)]
    goals = _rows(
        connection,
        "Cruise Control's goals",
        {"goal": "left", "": "left", "now": "left", "breaches": "right", "then": "left", "breaches then": "right"},
        "SELECT goal, CASE WHEN hard THEN 'hard' ELSE 'soft' END, verdict_before, CAST(breaches_before AS VARCHAR), verdict, CAST(breaches AS VARCHAR) "
        f"FROM plan_goal {where} ORDER BY NOT hard, goal",
        ask,
    )
    waves = _rows(
        connection,
        "Waves (0: leadership alone)",
        {name: "right" for name in ("wave", "partitions", "replicas copied", "GiB", "most on a broker", "fullest disk", "harmed after it")},
        "SELECT CAST(wave AS VARCHAR), CAST(partitions AS VARCHAR), CAST(moved_replicas AS VARCHAR), "
        "coalesce(format('{:.2f}', moved_bytes / 1073741824), 'unknown'), CAST(moves_of_busiest_broker AS VARCHAR), "
        "coalesce(format('{}: {:.0f}%', fullest_target_id, 100 * fullest_target_share), '-'), CAST(harmed AS VARCHAR) "
        f"FROM plan_wave {where} ORDER BY plan_wave.wave",
        ask,
    )
    failures = _rows(
        connection,
        "What a failure takes, now and then: those that harm (the first 40)",
        {"failure": "left", **dict.fromkeys(("offline", "offline then", "refuse acks=all", "refuse then", "lost", "lost then"), "right")},
        "SELECT scenario_id, newly_offline_before, newly_offline, newly_refusing_acks_all_before, newly_refusing_acks_all, newly_lost_before, newly_lost "
        f"FROM plan_scenario {where} AND greatest({', '.join(f'{name}_before, {name}' for name, _ in _HARMS)}) > 0 "
        f"ORDER BY {_IN_ORDER} LIMIT 40",
        ask,
    )
    moves = _rows(
        connection,
        "What changes (the first 200)",
        {"wave": "right", "topic": "left", "partition": "right", "replicas": "left", "reason": "left"},
        "SELECT CAST(wave AS VARCHAR), topic, CAST(partition AS VARCHAR), CAST(replicas_before AS VARCHAR) || ' -> ' || CAST(replicas AS VARCHAR), reason "
        f"FROM plan_move {where} ORDER BY plan_move.wave, plan_move.topic, plan_move.partition LIMIT 200",
        ask,
    )
    broken = (
        "CASE WHEN success{0} THEN 'holds' WHEN success{0} IS NULL THEN 'unknown' ELSE CAST(broken_rows{0} AS VARCHAR) || ' broken' END"
    )
    rules = _rows(
        connection,
        "Rules that it changes",
        {"rule": "left", "": "left", "now": "left", "then": "left", "what would clear it, such as": "left"},
        f"SELECT suite || '.' || rule, severity, {broken.format('_before')}, {broken.format('')}, coalesce(json_extract_string(example, '$.smallest_change'), '') FROM plan_rule {where} "
        "AND (success_before IS DISTINCT FROM success OR broken_rows_before <> broken_rows) ORDER BY success, severity, suite, rule",
        ask,
    )
    blocked = _rows(
        connection,
        "What cannot be moved",
        {"for": "left", "because": "left", "replicas": "right", "partitions": "right", "such as": "left"},
        "SELECT reason, obstacle, CAST(sum(blocked_replicas) AS VARCHAR), CAST(count(*) AS VARCHAR), min(topic || '-' || partition) "
        f"FROM plan_blocked {where} GROUP BY ALL ORDER BY sum(blocked_replicas) DESC, 1, 2",
        ask,
    )
    return [*warnings, summary, *notes, goals, *(each for each in (blocked, rules, failures) if each.row_count), waves, moves]


def plan_pictures(connection: DuckdbViews, snapshot_id: str, cluster_id: str, id: str) -> str:
    """What each broker carries before and after, as bars; HTML, for a browser."""
    names = {"replicas": "replicas", "leaders": "leaders", "size_bytes": "GiB"}
    columns = ", ".join(f"{name}{suffix}" for name in names for suffix in ("_before", ""))
    rows = connection.execute(
        f"SELECT broker_id, {columns} FROM plan_broker WHERE snapshot_id = ? AND cluster_id = ? AND plan_id = ? ORDER BY 1",
        [snapshot_id, cluster_id, id],
    ).fetchall()
    drawn = []
    for place, (name, title) in enumerate(names.items()):
        pairs = [(row[0], row[1 + 2 * place], row[2 + 2 * place]) for row in rows]
        most = max((value for _, *values in pairs for value in values if value is not None), default=0)
        if most:
            unit = 2**30 if name == "size_bytes" else 1
            lines = "".join(
                f"<tr><th>{broker}</th>{_bar(before, most, unit)}{_bar(after, most, unit)}</tr>" for broker, before, after in pairs
            )
            drawn.append(f"<h2>{title} of each broker</h2><table><tr><th>broker</th><th>now</th><th>then</th></tr>{lines}</table>")
    return "".join([*drawn, _plan_matrix(connection, snapshot_id, cluster_id, id)])


# What a failure takes, and the word for it; in this order, singles first and the worst of each kind.
_HARMS = tuple(HARM_WORDS.items())
_IN_ORDER = (
    "kind = 'pair', kind, newly_lost_before DESC, newly_offline_before DESC, newly_refusing_acks_all_before DESC, brokers, scenario_id"
)


def _plan_matrix(connection: DuckdbViews, snapshot_id: str, cluster_id: str, id: str) -> str:
    """Failures down, what each takes across, now and then: of many the worst; pairs only where they harm."""
    columns = [name for name, _ in (*_HARMS, ("at_min_isr", "at min ISR"))]
    rows = connection.execute(
        f"SELECT scenario_id, {', '.join(f'{name}_before, {name}' for name in columns)} FROM plan_scenario WHERE snapshot_id = ? AND cluster_id = ? AND plan_id = ? "
        f"AND (kind <> 'pair' OR greatest({', '.join(f'{name}_before, {name}' for name, _ in _HARMS)}) > 0) ORDER BY {_IN_ORDER} LIMIT 120",
        [snapshot_id, cluster_id, id],
    ).fetchall()
    if not rows:
        return ""
    heads = "".join(f"<th>{word}</th><th>then</th>" for word in (*(word for _, word in _HARMS), "at min ISR"))
    lines = []
    for failure, *counts in rows:
        harms = [f"<td class={'harm' if count else 'none'}>{count}</td>" for count in counts[: 2 * len(_HARMS)]]
        lines.append(
            f"<tr><th>{escape(failure)}</th>{''.join(harms)}{''.join(f'<td>{count}</td>' for count in counts[2 * len(_HARMS) :])}</tr>"
        )
    return f"<h2>Partitions that a failure takes, now and then</h2><table><tr><th>failure</th>{heads}</tr>{''.join(lines)}</table>"


def _bar(value: float | None, most: float, unit: int) -> str:
    if value is None:
        return "<td class=none>unknown</td>"
    text = f"{value / unit:.2f}" if unit > 1 else f"{value}"
    filled = round(100 * value / most)
    return f'<td style="min-width:14rem;background:linear-gradient(90deg,#9cc3e6 {filled}%,#fff {filled}%)">{text}</td>'


def show(parts: Sequence[RenderableType]) -> None:
    console = Console(highlight=False)
    for part in parts:
        console.print(part)


def write(parts: Sequence[RenderableType], page: Path, *, title: str, links: dict[str, str], pictures: str = "") -> None:
    """The same as a page of its own, with pictures below."""
    console = Console(record=True, width=130, file=StringIO(), color_system="truecolor", force_terminal=True, highlight=False)
    for part in parts:
        console.print(part)
    joined = " · ".join('<a href="' + href + '">' + text + "</a>" for text, href in links.items())
    anchors = f"<p>{joined}</p>"
    shown = escape(title).replace("{", "{{").replace("}", "}}")  # export_html formats the frame
    frame = _PAGE.replace("{title}", shown).replace("{links}", anchors)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(console.export_html(code_format=frame).replace("<!--pictures-->", pictures), encoding="utf-8")


def _rows(connection: DuckdbViews, title: str, columns: dict[str, str], query: str, values: Sequence[object]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name, side in columns.items():
        table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in connection.execute(query, list(values)).fetchall():
        table.add_row(*(Text(str(value)) for value in row))
    return table


def _survives(verdict: Mapping[str, Any], kind: str) -> Text:
    """Whether a cluster survives a kind of failure; if not, the worst failure for data, for reads and for writes, each named once."""
    survived = [verdict[f"{SURVIVES[kind]}_{harm}"] for harm in MUST_BE_ZERO]
    if None in survived:
        return Text("-", "yellow")
    if all(survived):
        return Text("yes", "green")
    harms_of: dict[str, dict[str, int]] = {}
    for harm, counts in MUST_BE_ZERO.items():
        if worst := verdict[f"worst_{kind}_{harm}"]:
            harms_of.setdefault(worst, {}).update((count, verdict[f"{kind}_{harm}_{count}"]) for count in counts)
    each = (
        ", ".join(f"{partitions} {HARM_WORDS[count]}" for count, partitions in harms.items() if partitions) + f"\nif {failure}"
        for failure, harms in harms_of.items()
    )
    return Text("NO: " + ";\n".join(each), "red")


def _quorum(verdict: Mapping[str, Any]) -> Text:
    """A line where the controller quorum does not survive any one broker's death, or where its voters are unknown."""
    survives = verdict["quorum_survives_any_broker"]
    if survives or verdict["controller"] != "kraft":
        return Text()
    return Text("\nquorum unknown", "yellow") if survives is None else Text("\nquorum at risk", "red")
