"""What a person reads: the verdicts of a night, and the answer to a what-if, on the terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OFFENDERS = "SELECT cluster_id, scenario_id, topic, partition, trouble FROM offender"  # what to ask next
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 1.5rem; background: #fff; color: #1c1e21; font-family: system-ui, sans-serif }}
pre {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; line-height: 1.25; overflow-x: auto }}
{stylesheet}</style></head>
<body><h1>{title}</h1>{links}<pre>{code}</pre></body></html>
"""


def verdicts(connection: DuckDBPyConnection, snapshot_id: str, withheld: Sequence[str]) -> list[RenderableType]:
    """A line per cluster, then the rules that are broken."""
    table = Table(title=f"Verdicts of {snapshot_id}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("cluster", overflow="fold")
    for name in ("survives\nany broker?", "survives\nany rack?"):
        table.add_column(name, overflow="fold")
    for name in ("lead.\nskew", "byte\nskew", "prod.\nskew", "cons.\nspread", "broken\nrules"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = connection.execute(
        "SELECT cluster_id, live_brokers, brokers, any_broker_reads, any_broker_writes, worst_broker, broker_leaderless, broker_under_min_isr, "
        "any_rack_reads, any_rack_writes, worst_rack, rack_leaderless, rack_under_min_isr, leader_skew, byte_skew, producer_skew, consumer_spread, "
        "broken_rules FROM verdict WHERE snapshot_id = ? ORDER BY cluster_id",
        [snapshot_id],
    ).fetchall()
    for cluster, live, brokers, *rest in rows:
        broker, rack, (leaders, size, producers, spread, broken) = rest[:5], rest[5:10], rest[10:]
        name = Text(cluster).append(f"\n{live} of {brokers} live", "red" if live < brokers else "dim")
        skews = (_number(leaders), _number(size), _number(producers), "-" if spread is None else str(spread))
        table.add_row(name, _survives(*broker), _survives(*rack), *skews, Text(str(broken), "yellow" if broken else "green"))
    for cluster in withheld:
        table.add_row(Text(cluster), Text("withheld", "red"))
    notes = Text(
        "Skew: the most loaded over the mean (leaders and bytes over brokers, producers over the partitions of the worst topic). "
        "Spread: the most partitions of a group's member less the fewest. Read-only: acks=all is refused. -: not told by the dumps.\n",
        "dim",
    )
    offences = _rows(
        connection,
        "Broken rules, by cluster: how many rows break what must hold",
        {"cluster": "left", "rows": "right", "what must hold, and the rule's name": "left"},
        "SELECT cluster_id, broken_rows, sentence || ' ' || suite || '.' || rule FROM broken_rule "
        "WHERE snapshot_id = ? AND result = 'broken' ORDER BY 1, broken_rows DESC, 3",
        [snapshot_id],
    )
    return [table, notes, offences]


def what_if(connection: DuckDBPyConnection, snapshot_id: str, id: str) -> list[RenderableType]:
    """The outcome of a what-if: in a sentence, by partition, by survivor."""
    ask = [snapshot_id, id]
    where = "WHERE snapshot_id = ? AND scenario_set = ?"
    names = ("cluster_id", "brokers", "racks", "unclean", "controlled_shutdown", "partitions", "moved_leaders", "newly_leaderless", "newly_under_min_isr",
             "at_min_isr", "unclean_leaders", "no_replica_left", "homeless_records")  # fmt: skip
    row = connection.execute(f"SELECT {', '.join(names)} FROM scenario {where}", ask).fetchone()
    said = dict(zip(names, row or (), strict=True))
    how = "stopped in order" if said["controlled_shutdown"] else "killed"
    election = {None: "as each topic's config says", True: "allowed", False: "forbidden"}[said["unclean"]]
    question = Text(f"Cluster {said['cluster_id']} of {snapshot_id}: brokers {', '.join(map(str, said['brokers']))} {how}, unclean election {election}.\n", "bold")
    bad = said["newly_leaderless"] or said["newly_under_min_isr"]
    outcome = Text(
        f"{said['partitions']} partitions have a replica there. {said['newly_leaderless']} lose their leader, {said['newly_under_min_isr']} more stop taking "
        f"acks=all, {said['at_min_isr']} are left at min ISR, {said['moved_leaders']} get another leader ({said['unclean_leaders']} uncleanly, losing records).\n",
        "red" if bad else "green",
    )
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
        f"SELECT broker_id, leaders_before, gained_leaders, leaders_after, coalesce(CAST(gained_records AS VARCHAR), 'not told') FROM takeover {where} ORDER BY 1",
        ask,
    )
    return [question, outcome, partitions, survivors]


def show(parts: Sequence[RenderableType]) -> None:
    console = Console(highlight=False)
    for part in parts:
        console.print(part)


def write(parts: Sequence[RenderableType], page: Path, *, title: str, links: dict[str, str]) -> None:
    """The same as a page of its own."""
    console = Console(record=True, width=160, file=StringIO(), color_system="truecolor", force_terminal=True, highlight=False)
    for part in parts:
        console.print(part)
    joined = ' · '.join('<a href="' + href + '">' + text + '</a>' for text, href in links.items())
    anchors = f'<p>{joined}</p>'
    frame = _PAGE.replace("{title}", title).replace("{links}", anchors)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(console.export_html(code_format=frame), encoding="utf-8")


def _rows(connection: DuckDBPyConnection, title: str, columns: dict[str, str], query: str, values: Sequence[object]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name, side in columns.items():
        table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in connection.execute(query, list(values)).fetchall():
        table.add_row(*(Text(str(value)) for value in row))
    return table


def _survives(reads: bool | None, writes: bool | None, worst: str | None, leaderless: int | None, under: int | None) -> Text:
    if reads is None:
        return Text("-", "yellow")
    if reads and writes:
        return Text("yes", "green")
    harm = f"NO: {leaderless} offline" if not reads else f"NO: {under} read-only"
    return Text(f"{harm}\nif {worst}", "red")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
