"""The console command `topology-audit`; Airflow's steps are the same file, submitted to Spark."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from jobs.errors import AuditError, IncompleteNight, NoSuchPlan
from jobs.names import folder_name, new_id, snapshot_name
from jobs.report import page as pages
from jobs.report import query_output
from jobs.report.folder import name_snapshot
from jobs.report.query_output import Format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from expectations.limits import Limits
    from jobs.lake.lake import Lake
    from jobs.night import Night
    from jobs.views import DuckdbViews

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
                  help="What breaks in a fleet of Kafka clusters if a broker or rack dies tonight.")  # fmt: skip

BUNDLED = Path(__file__).resolve().with_name("bundled")


class Unclean(StrEnum):
    yes = "yes"
    no = "no"
    topic = "topic"


class Engine(StrEnum):
    duckdb = "duckdb"
    spark = "spark"


LakeUri = Annotated[str, typer.Option(help="Where the Delta tables lie: a folder, or any Hadoop-compatible URI.", envvar="TOPOLOGY_LAKE")]
Snapshot = Annotated[str | None, typer.Option(help="The night's name; later nights must sort later.", show_default="today, as 2026-01-31")]
Report = Annotated[
    Path | None, typer.Option(help="Folder for the pages.", show_default="LAKE/reports/SNAPSHOT, where the lake is a folder")
]
LimitsFile = Annotated[
    Path | None, typer.Option(help="A TOML file of limits that differ from expectations/limits.toml.", exists=True, dir_okay=False)
]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Ask: start_index, shift, counter_start. May be repeated.")
]
Retired = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLUSTER", help="A cluster that is gone on purpose: its absence is not reported. Commas separate several; may be repeated."
    ),
]
Source = Annotated[str, typer.Argument(help="A folder with a folder of dumps per cluster.", show_default="the bundled snapshot")]
DEFAULT_LAKE = "lake"
_NAMED = 5  # absent clusters in an error message


@app.command()
def nightly(
    source: Source = str(BUNDLED),
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    parameters: Parameters = None,
    limits: LimitsFile = None,
    report: Report = None,
    retired: Retired = None,
    ingested: Annotated[bool, typer.Option("--ingested", help="Take what the lake has of the snapshot's dumps; read none.")] = False,
) -> None:
    """Run a night: every step, every check, publish, and the verdicts."""
    from jobs.ingest import dumped
    from jobs.night import LONG_BYTES, Night
    from jobs.spark.jars import java

    started = time.monotonic()
    asked, allowed, id = _pairs(parameters), _limits(limits), _snapshot_id(snapshot)
    java()
    with ThreadPoolExecutor(1) as starting, (place := _lake(lake)).sole_writer():
        # What was ingested into other storage, Spark alone could tell, which is to be set before it starts.
        size = dumped(source) if not ingested else Night(place, id).dumped if place.in_process else 0
        # Spark starts while the dumps are read.
        night = Night(replace(place, spark=starting.submit(_spark, long=size > LONG_BYTES).result), id)
        folder = _pages(place, night.snapshot_id, report)
        night.run(None if ingested else source, asked, allowed, _docs(folder, night.snapshot_id), _telling, _ids(retired))
    absent = _conclude(place, night.snapshot_id, folder)
    where = place.folder or lake
    _say(
        f"\n{time.monotonic() - started:.1f} s. The tables are in [bold]{where}[/]"
        + (f", the pages in [bold]{folder}[/]." if folder else ".")
    )
    _say(f'Next: [bold]topology-audit query --lake {lake} "{pages.OFFENDERS} WHERE latest"[/]')
    _fail_if_incomplete(absent, night.snapshot_id)


@app.command()
def step(
    name: Annotated[str, typer.Argument(help="ingest, or a step after it, such as failover.")],
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    source: Annotated[
        str, typer.Option(help="For ingest: a folder with a folder of dumps per cluster.", show_default="the bundled snapshot")
    ] = str(BUNDLED),
    parameters: Parameters = None,
    limits: LimitsFile = None,
) -> None:
    """Run one step of a night, from its tables to its tables."""
    from jobs.night import JOBS

    if name not in ("ingest", *JOBS):
        raise AuditError(f"no step {name}: there are ingest, {', '.join(JOBS)}")
    allowed = _limits(limits)
    night = _night(lake, snapshot)
    with _telling(f"step {name}"):
        if name == "ingest":
            night.ingest(source, _pairs(parameters))
        else:
            night.step(name, allowed)
    if name == "ingest":
        from jobs.views import DuckdbViews

        pages.show(pages.unread(DuckdbViews(night.lake), night.snapshot_id))


@app.command()
def check(
    gate: Annotated[str, typer.Argument(help="ingest, computed, failover or balance.")],
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    limits: LimitsFile = None,
    report: Report = None,
) -> None:
    """Judge the tables of a gate with Great Expectations; a cluster that breaks a hard rule will not be published."""
    from jobs.night import GATES

    if gate not in GATES:
        raise AuditError(f"no gate {gate}: there are {', '.join(GATES)}")
    allowed = _limits(limits)
    night = _night(lake, snapshot)
    with _telling(f"check {gate}"):
        broken = night.check(gate, allowed, _docs(_pages(night.lake, night.snapshot_id, report), night.snapshot_id))
    for line in broken:
        _say(f"[red]withheld[/] {escape(line)}")


@app.command()
def publish(
    lake: LakeUri = DEFAULT_LAKE, snapshot: Snapshot = None, limits: LimitsFile = None, report: Report = None, retired: Retired = None
) -> None:
    """Make the snapshot visible to readers, but for the clusters that break a hard rule, and record every absent cluster.

    The outcome is also a file for other programs: published.json in the folder of the pages.
    """
    allowed = _limits(limits)
    night = _night(lake, snapshot)
    with _telling("publish"):
        outcome = night.publish(allowed, _ids(retired))
    for row in outcome.absent:
        _say(f"[red]absent[/] {escape('{cluster_id}: {reason}: {detail}'.format(**row))}")
    _say(f"Published: {escape(', '.join(outcome.published)) or 'no cluster'}")
    if folder := _pages(night.lake, night.snapshot_id, report):
        name_snapshot(folder, night.snapshot_id)
        written = {"snapshot_id": night.snapshot_id, "clusters": outcome.published, "absent": outcome.absent}
        (folder / "published.json").write_text(json.dumps(written, indent=1), encoding="utf-8")


@app.command()
def report(lake: LakeUri = DEFAULT_LAKE, snapshot: Snapshot = None, report: Report = None) -> None:
    """Show the verdicts of a published snapshot, and write its page; an error if a cluster is absent."""
    from jobs.views import DuckdbViews

    id, place = _snapshot_id(snapshot), _lake(lake)
    _check_snapshot(DuckdbViews(place), id, lake)
    _fail_if_incomplete(_conclude(place, id, _pages(place, id, report)), id)


@app.command("what-if")
def what_if(
    cluster: Annotated[str, typer.Option(help="The cluster's id.")],
    broker: Annotated[list[int] | None, typer.Option(help="A broker that fails; repeated, they fail in this order.")] = None,
    rack: Annotated[list[str] | None, typer.Option(help="A rack that fails, its brokers in the order of their ids.")] = None,
    log_dir: Annotated[list[str] | None, typer.Option(help="A log dir that fails, after brokers and racks: 3:/var/lib/kafka.")] = None,
    unclean: Annotated[
        Unclean, typer.Option(help="Unclean leader election: everywhere, nowhere, or as each topic's config says.")
    ] = Unclean.topic,
    controlled_shutdown: Annotated[
        bool, typer.Option("--controlled-shutdown", help="The brokers are stopped in order, not killed.")
    ] = False,
    id: Annotated[str | None, typer.Option(help="The answer's scenario_set.", show_default="what-if, the time and a random part")] = None,
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Annotated[str | None, typer.Option(help="A published night.", show_default="the cluster's newest")] = None,
    report: Report = None,
) -> None:
    """Fail any brokers, racks or log dirs of a published cluster, and see what breaks."""
    from jobs.views import DuckdbViews
    from jobs.what_if import Question, answer

    if not broker and not rack and not log_dir:
        raise AuditError("a what-if needs at least one --broker, --rack or --log-dir that fails")
    question = Question(
        new_id("what-if") if id is None else id,
        cluster,
        broker or (),
        rack or (),
        log_dir or (),
        {"yes": True, "no": False, "topic": None}[unclean],
        controlled_shutdown,
    )
    place = _lake(lake)
    with _telling(f"what if, on {cluster}"):
        found = answer(place, _snapshot_id(snapshot) if snapshot else None, question)
    parts = pages.what_if(DuckdbViews(place), found, cluster, question.id)
    pages.show(parts)
    if folder := _pages(place, f"{found}/what-if/{folder_name(cluster)}/{question.id}", report):
        name_snapshot(folder, found)
        pages.write(parts, folder / "index.html", title=f"What if, on {cluster}", links={})
        _say(f"The page is in [bold]{escape(str(folder))}[/].")
    _say(f"Next: [bold]topology-audit query --lake {lake} \"{pages.OFFENDERS} WHERE scenario_set = '{question.id}'\"[/]")


@app.command()
def plan(
    cluster: Annotated[str, typer.Option(help="The cluster's id.")],
    drain: Annotated[list[int] | None, typer.Option(help="A broker that is to hold nothing; may be repeated.")] = None,
    add: Annotated[list[str] | None, typer.Option(metavar="ID[:RACK]", help="A broker to come; may be repeated.")] = None,
    replication_factor: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC=N", help="Replicas that a topic is to have; may be repeated.")
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Change these topics alone, to have them rack-safe and off dead brokers.")] = None,
    balance: Annotated[bool, typer.Option(help="Mend the goals of counts, leaders, disks, network and cpu too.")] = True,
    wave_gib: Annotated[float, typer.Option(min=0.001, help="GiB that a wave may copy.")] = 100.0,
    moves_per_broker: Annotated[int, typer.Option(min=1, help="Replicas that a wave may copy to or from a broker.")] = 100,
    network_share: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Part of a broker's network that may be in use while it copies: sets the throttle.")
    ] = 0.5,
    disk_limit: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=1.0,
            help="Part of a broker's disk that may be in use while it gets replicas, old and new copies together.",
            show_default="plan_disk_share_most of the limits",
        ),
    ] = None,
    rules: Annotated[
        bool, typer.Option(help="Judge every rule on the night after the plan: it takes as long as a night of the cluster.")
    ] = True,
    id: Annotated[str | None, typer.Option(help="The plan's id.", show_default="plan, the time and a random part")] = None,
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Annotated[str | None, typer.Option(help="A published night.", show_default="the cluster's newest")] = None,
    limits: LimitsFile = None,
    report: Report = None,
) -> None:
    """Plan the smallest reassignment that mends a published cluster, and write it for Kafka's own tools; nothing is executed.

    If a part of what is asked cannot be done, the first line states it, the plan for the rest is stored, and the exit code is 4; files for
    Kafka's tools are then written only if nothing gets worse. A plan that makes the cluster worse is refused, also with exit code 4.
    """
    from jobs.plan.plan import Question, answer, files, unfulfilled
    from jobs.views import DuckdbViews

    brokers = {int(number): rack or None for number, _, rack in (_broker(text).partition(":") for text in add or ())}
    factors = {name: _factor(name, count) for name, count in _pairs(replication_factor).items()}
    question = Question(
        new_id("plan") if id is None else id,
        cluster,
        drain or (),
        brokers,
        factors,
        topic or (),
        balance,
        wave_gib * 2**30,
        moves_per_broker,
        network_share,
        disk_limit,
    )
    place, allowed = _lake(lake), _limits(limits)
    with _telling(f"plan, on {cluster}"):
        found = answer(place, _snapshot_id(snapshot) if snapshot else None, question, allowed, rules=rules)
        connection = DuckdbViews(place)
        parts = pages.plan(connection, found, cluster, question.id)
        pages.show(parts)  # before the line with the time: what cannot be done comes first
    written = []
    if folder := _pages(place, f"{found}/plan/{folder_name(cluster)}/{question.id}", report):
        pictures = pages.plan_pictures(connection, found, cluster, question.id)
        name_snapshot(folder, found)
        pages.write(parts, folder / "index.html", title=f"Plan, on {cluster}", links={}, pictures=pictures)
        written = files(place, found, cluster, question.id, folder)
        if written:
            _say(
                f"The page and {len(written) - 1} files for kafka-reassign-partitions and kafka-leader-election are in "
                f"[bold]{escape(str(folder))}[/]. Run there:"
            )
            typer.echo(written[-1].read_text(), nl=False)
        else:
            _say(f"The page is in [bold]{escape(str(folder))}[/]. No files for Kafka's tools are written.")
    _say(f"Next: [bold]topology-audit query --lake {lake} \"SELECT * FROM plan_move WHERE plan_id = '{question.id}'\"[/]")
    if missing := unfulfilled(place, found, question):
        raise NoSuchPlan(f"plan {question.id} does not do all that was asked: {missing}")


def _broker(text: str) -> str:
    if not re.fullmatch(r"\d{1,9}(:.+)?", text):
        raise AuditError(f"--add {text!r} must be ID or ID:RACK")
    return text


def _factor(topic: str, count: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", count):
        raise AuditError(f"--replication-factor {topic}={count}: it must be a whole number, 1 or more")
    return int(count)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT on the published views, such as: SELECT * FROM verdict WHERE latest")],
    lake: LakeUri = DEFAULT_LAKE,
    engine: Annotated[Engine, typer.Option(help="DuckDB answers at once; Spark reads any storage that it is set up for.")] = Engine.duckdb,
    rows: Annotated[int, typer.Option(help="Print at most so many rows; a note on stderr says if there are more.", min=1)] = 100,
    format: Annotated[
        Format | None,
        typer.Option(
            help="How to print the rows. Rows that are wider than the terminal are printed as vertical. Numbers in csv and json are exact.",
            show_default="table on a terminal, csv elsewhere",
        ),
    ] = None,
) -> None:
    """Ask the published views in SQL; a query only reads."""
    from jobs.views import ask_duckdb, ask_spark

    names, found = (ask_duckdb if engine == Engine.duckdb else ask_spark)(_lake(lake), sql, rows + 1)
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    _write(query_output.text(names, found[:rows], format or (Format.table if terminal else Format.csv), width))
    if len(found) > rows:
        print(f"only the first {rows} rows are printed: --rows prints more", file=sys.stderr)
    elif terminal:
        print(f"{len(found)} row{'' if len(found) == 1 else 's'}", file=sys.stderr)


@app.command()
def views(lake: LakeUri = DEFAULT_LAKE, engine: Annotated[Engine, typer.Option(help="Whose SQL.")] = Engine.spark) -> None:
    """Print the SQL that makes the published views in a session of your own."""
    from jobs.views import script

    print(script(_lake(lake), engine), end="")


@app.command()
def capture(
    folder: Annotated[Path, typer.Argument(help="The cluster's folder, in the one that `nightly` will read: FOLDER/CLUSTER.")],
    bootstrap_server: Annotated[
        str | None, typer.Option(help="HOST:PORT, and more of them after commas.", show_default="the properties' own")
    ] = None,
    command_config: Annotated[Path | None, typer.Option(help="A client.properties, as Kafka's own tools take it.", dir_okay=False)] = None,
    key_records: Annotated[int, typer.Option(min=0, help="Of each partition, read so many last records for their keys.")] = 0,
    login_jar: Annotated[
        list[Path] | None, typer.Option(help="A jar of a login module that Kafka does not bring. May be repeated.", exists=True)
    ] = None,
) -> None:
    """Ask a live cluster what its dumps would say, and save it beside them."""
    from jobs.capture import capture_clusters
    from jobs.capture.connection import from_file

    text = from_file(command_config, bootstrap_server)
    name = folder.resolve().name
    with _telling(f"capture {name}"):
        unread = capture_clusters(
            str(folder.resolve().parent),
            {name: lambda client: client.properties(text)},
            login_jars=[str(jar) for jar in login_jar or ()],
            key_records=key_records,
        )
    if unread:
        raise AuditError(f"{name} cannot be read, and its capture says so: {unread[name]}")
    _say(f"Next: [bold]topology-audit nightly {folder.resolve().parent}[/]")


@app.command()
def generate(
    folder: Annotated[Path | None, typer.Argument(help="Where the dumps go, a folder per cluster; it must not hold any yet.")] = None,
    lake: Annotated[
        str | None, typer.Option(help="Write into this lake what ingest would make of the dumps; for fleets of any size.")
    ] = None,
    snapshot: Snapshot = None,
    clusters: Annotated[int, typer.Option(min=1)] = 2,
    brokers: Annotated[int, typer.Option(min=1, help="In each cluster.")] = 6,
    racks: Annotated[int, typer.Option(min=0, help="0: none.")] = 3,
    topics: Annotated[int, typer.Option(min=1, help="In each cluster.")] = 20,
    partitions: Annotated[int, typer.Option(min=1, help="On average, in each topic.")] = 6,
    groups: Annotated[int, typer.Option(min=0, help="Consumer groups in each cluster.")] = 5,
    keys: Annotated[int, typer.Option(min=1, help="Sampled, of each topic.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same fleet.")] = 0,
) -> None:
    """Make up a fleet, to try the audit on: as dumps, or as tables."""
    from jobs.generate import Fleet, dumps, tables
    from jobs.spark.session import set_for

    fleet = Fleet(clusters, brokers, racks, topics, groups, partitions, keys, seed)
    if (folder is None) == (lake is None):
        raise AuditError("generate needs a folder for dumps or a --lake for tables, and not both")
    if folder is not None:
        dumps.write(folder, fleet)
        _say(f"Next: [bold]topology-audit nightly {folder}[/]")
        return
    night = _night(lake, snapshot)
    with night.lake.sole_writer(), _telling("generate"):
        set_for(spark := night.lake.spark(), small=False)
        night.begin([*tables.tables(spark, fleet, night.snapshot_id).values()], {})
    _say(f"Next: [bold]topology-audit nightly --ingested --lake {lake} --snapshot {night.snapshot_id}[/]")


@app.command()
def maintain(
    lake: LakeUri = DEFAULT_LAKE,
    keep_nights: Annotated[int, typer.Option(min=1, help="The newest so many published nights stay.")] = 400,
    vacuum_hours: Annotated[
        int,
        typer.Option(
            min=24, help="Files that no version of the last so many hours has are removed; a night has some of its own while it is written."
        ),
    ] = 168,
    reports: Annotated[
        Path | None,
        typer.Option(help="Airflow's folder of reports (Variable topology_reports): those of deleted nights are deleted there too."),
    ] = None,
) -> None:
    """Delete old nights and their reports, and compact the others."""
    from jobs.lake.maintenance import delete_expired_reports
    from jobs.lake.maintenance import maintain as tidy

    with (place := _lake(lake)).sole_writer(), _telling("maintain"):
        gone = tidy(place, keep_nights=keep_nights, vacuum_hours=vacuum_hours)
        deleted = delete_expired_reports(place, reports, keep_nights=keep_nights, unchanged_hours=vacuum_hours)
    _say(f"deleted {len(gone)} nights" + (f", {gone[0]} to {gone[-1]}," if gone else "") + f" and {len(deleted)} reports")


@app.command()
def airflow(
    source: Annotated[
        Path, typer.Option(help="A folder with a folder of dumps per cluster.", show_default="the bundled snapshot")
    ] = BUNDLED,
    lake: Annotated[Path, typer.Option(help="Where the Delta tables lie.", envvar="TOPOLOGY_LAKE")] = Path(DEFAULT_LAKE),
    home: Annotated[Path, typer.Option(help="Airflow's own folder.", envvar="AIRFLOW_HOME")] = Path("lake/airflow"),
    port: Annotated[int, typer.Option(help="Of the UI, on 127.0.0.1.")] = 8080,
) -> None:
    """Start Airflow on this machine, with the DAGs wired to this lake; it runs until interrupted."""
    from jobs.airflow import environment
    from jobs.spark.session import properties_file

    wired = environment(lake=lake.resolve(), source=source.resolve(), home=home.resolve(), spark_properties=properties_file(), port=port)
    _say(f"Airflow on http://127.0.0.1:{port}, with user and password as it prints them below; stop it with Ctrl-C.")
    os.execve(Path(sys.executable).with_name("airflow"), ["airflow", "standalone"], os.environ | wired)


def _conclude(lake: Lake, snapshot_id: str, folder: Path | None) -> list[tuple[str, str, str, str | None]]:
    """Show the absent clusters, then the verdicts, on the terminal and as a page beside the Data Docs; return the absent clusters."""
    from jobs.views import DuckdbViews

    connection = DuckdbViews(lake)
    parts = [
        *pages.absent(connection, snapshot_id),
        *pages.verdicts(connection, snapshot_id),
        *pages.unread(connection, snapshot_id),
    ]
    pages.show(parts)
    if folder:
        docs = "validation/index.html"
        name_snapshot(folder, snapshot_id)
        pages.write(
            parts,
            folder / "index.html",
            title=f"Kafka topology audit, {snapshot_id}",
            links={"Great Expectations' Data Docs": docs} if (folder / docs).exists() else {},
            pictures=pages.pictures(connection, snapshot_id),
        )
    return pages.absent_clusters(connection, snapshot_id)


def _check_snapshot(connection: DuckdbViews, snapshot_id: str, lake: str) -> None:
    """Raise an AuditError if the lake has nothing of this snapshot, or the night has not come to its end."""
    known = connection.execute("SELECT snapshot_id FROM _input_file UNION SELECT snapshot_id FROM _cluster ORDER BY 1").fetchall()
    nights = [id for (id,) in known]
    if not nights:
        raise AuditError(f"lake {lake} has no snapshot: run `topology-audit nightly` first")
    if snapshot_id not in nights:
        span = nights[0] if len(nights) == 1 else f"{nights[0]} to {nights[-1]}"
        raise AuditError(f"lake {lake} has no snapshot {snapshot_id}: it has {span}, choose one with --snapshot")
    ended = connection.execute("SELECT snapshot_id FROM snapshot UNION SELECT snapshot_id FROM absent_cluster").fetchall()
    if (snapshot_id,) not in ended:
        raise AuditError(f"snapshot {snapshot_id} in lake {lake} has not been published: run `topology-audit publish` on it first")


def _fail_if_incomplete(absent: list[tuple[str, str, str, str | None]], snapshot_id: str) -> None:
    if absent:
        named = [f"{cluster_id} ({reason}: {detail})" for cluster_id, reason, detail, _ in absent[:_NAMED]]
        more = f", and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
        raise IncompleteNight(f"absent from snapshot {snapshot_id} (view absent_cluster): {', '.join(named)}{more}")


def _ids(given: list[str] | None) -> set[str]:
    return {id.strip() for each in given or () for id in each.split(",") if id.strip()}


def _night(lake: str, snapshot: str | None) -> Night:
    from jobs.night import Night

    return Night(_lake(lake), _snapshot_id(snapshot))


def _lake(uri: str) -> Lake:
    from jobs.lake.lake import Lake

    return Lake(uri, _spark)


@cache  # to ask for it again would set back what is set for the size of the data
def _spark(*, long: bool = False) -> SparkSession:
    from jobs.spark.session import session

    return session(long=long)


def _snapshot_id(text: str | None) -> str:
    """A snapshot's name as given, or today."""
    return snapshot_name(text or f"{datetime.now(UTC):%Y-%m-%d}")


def _pairs(given: list[str] | None) -> dict[str, str]:
    pairs = dict(pair.partition("=")[::2] for pair in given or ())
    if wrong := [pair for pair in given or () if "=" not in pair]:
        raise AuditError(f"--set {wrong[0]!r} must be NAME=VALUE")
    return pairs


def _pages(lake: Lake, name: str, asked: Path | None) -> Path | None:
    """The folder of a night's pages; none for a lake on other storage, unless one is named."""
    folder = asked or (lake.folder / "reports" / name if lake.folder else None)
    return folder.resolve() if folder else None  # Great Expectations takes no relative one


def _docs(folder: Path | None, snapshot_id: str) -> str | None:
    if folder is None:
        return None
    name_snapshot(folder, snapshot_id)
    return str(folder / "validation")


def _limits(path: Path | None) -> Limits:
    from expectations.limits import limits

    return limits(path)


def _write(text: str) -> None:
    """Write to stdout; a reader that closes the pipe early, such as `head`, is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    Console(highlight=False, soft_wrap=True).print(text)


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    started = time.monotonic()
    yield
    Console(highlight=False).print(f"[green]✓[/] {escape(f'{what:<28}')} {time.monotonic() - started:5.1f} s")


def main() -> None:
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], standalone_mode=False))
    except AuditError as error:
        print(f"topology-audit: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if hasattr(error, "format_message"):  # Click's own, which Typer keeps under a private name
            print(f"topology-audit: {' '.join(error.format_message().split())} (--help tells more)", file=sys.stderr)
            sys.exit(2)
        # a person reads one line; the trace is kept for whoever mends it
        _explain(error)
        sys.exit(1)


def _explain(error: Exception) -> None:
    from jobs.spark.jars import CACHE

    name, said = type(error).__name__, str(error).strip().splitlines() or [""]
    if "Concurrent" in f"{name}{said[0]}" or "DELTA_CONCURRENT" in said[0]:
        print(
            f"topology-audit: another run wrote to the same snapshot meanwhile ({said[0][:200]}): run again when it has ended",
            file=sys.stderr,
        )
        return
    trace = CACHE / "last-error.txt"
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.write_text(traceback.format_exc(), encoding="utf-8")
    print(f"topology-audit: unexpected {name}: {said[0][:300]} (the whole of it is in {trace})", file=sys.stderr)


if __name__ == "__main__":
    main()
