"""The console command `topology-audit`: options and printing. Airflow submits this file to Spark, once for each step."""

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
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from jobs.errors import AuditError, FailOn, IncompleteNight, NoSuchPlan, NotSent
from jobs.names import folder_name, new_id, snapshot_name
from jobs.report import fail_on, query_output
from jobs.report.absent import AbsentCluster, absent_cluster_report, absent_clusters, unread_file_report
from jobs.report.finding_formats import FindingFormat, formatted_findings
from jobs.report.folder import AHEAD, name_snapshot
from jobs.report.night import night_report
from jobs.report.query_output import Format
from jobs.report.tables import HARMED_PARTITIONS, print_parts
from jobs.report.what_if import what_if_report
from jobs.spark.scale import Scale

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from expectations.limits import Limits
    from jobs.lake.lake import Lake
    from jobs.night import NightlyRun
    from jobs.notify.delivery import Recipient
    from jobs.views import DuckdbViews

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich")

BUNDLED = Path(__file__).resolve().with_name("bundled")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"topology-audit {version('kafka-topology-audit')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """What breaks in a fleet of Kafka clusters if a broker or rack dies tonight."""


class Unclean(StrEnum):
    yes = "yes"
    no = "no"
    topic = "topic"


class ChangeFormat(StrEnum):
    text = "text"
    json = "json"


class Engine(StrEnum):
    duckdb = "duckdb"
    spark = "spark"


NOTIFY_VARIABLE = "TOPOLOGY_NOTIFY"
LakeUri = Annotated[str, typer.Option(help="The lake of Delta tables: a folder, or any Hadoop-compatible URI.", envvar="TOPOLOGY_LAKE")]
Snapshot = Annotated[str | None, typer.Option(help="The snapshot's id; later nights must sort later.", show_default="today, as 2026-01-31")]


def _known_clusters(context: typer.Context, incomplete: str) -> list[str]:
    """Return the published clusters whose names start with a text, for the completion of a shell."""
    from jobs.views import DuckdbViews

    try:
        lake = str(context.params.get("lake") or os.environ.get("TOPOLOGY_LAKE", DEFAULT_LAKE))
        found = DuckdbViews(_lake(lake)).execute("SELECT DISTINCT cluster_id FROM snapshot ORDER BY 1").fetchall()
    except Exception:  # a shell must not show errors while the user types
        return []
    return [cluster_id for (cluster_id,) in found if cluster_id.startswith(incomplete)]


ClusterId = Annotated[str, typer.Option(help="The cluster's id.", autocompletion=_known_clusters)]
Report = Annotated[
    Path | None, typer.Option(help="Folder for the report's pages.", show_default="LAKE/reports/SNAPSHOT if the lake is a folder")
]
LimitsFile = Annotated[
    Path | None, typer.Option(help="A TOML file with the limits that differ from expectations/limits.toml.", exists=True, dir_okay=False)
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the run: start_index, shift or counter_start. May be repeated."),
]
Retired = Annotated[
    list[str] | None,
    typer.Option(metavar="CLUSTER", help="A retired cluster: its absence is not reported. Comma-separated; may be repeated."),
]
FailOnConditions = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with code 6 if the night has it: data, reads, writes or quorum (one broker's death harms it), new (a new finding), "
        "or rule=NAME. Comma-separated; may be repeated.",
    ),
]
Findings = Annotated[
    FindingFormat | None, typer.Option(help="Print the findings in this format, for other programs; progress goes to stderr.")
]
Metrics = Annotated[
    Path | None,
    typer.Option(
        help="Also write the metrics of every cluster's newest night to this file, in the OpenMetrics text format.",
        envvar="TOPOLOGY_METRICS",
    ),
]
NotifyUrls = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="URL",
        help="Send what changed since the previous night to this URL of Apprise, for example json://HOST/PATH. May be repeated. A URL may contain "
        "a password: the environment variable hides it from other users.",
        envvar=NOTIFY_VARIABLE,
    ),
]
Details = Annotated[bool, typer.Option("--details", help="Print all tables of the report, not one screen.")]
Source = Annotated[str, typer.Argument(help="A folder with a folder of dumps per cluster.", show_default="the bundled snapshot")]
DEFAULT_LAKE = "lake"
_MAX_NAMED = 5  # absent clusters in an error message


@app.command()
def nightly(
    source: Source = str(BUNDLED),
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    parameters: Parameters = None,
    limits: LimitsFile = None,
    report: Report = None,
    retired: Retired = None,
    ingested: Annotated[
        bool, typer.Option("--ingested", help="Use the tables that `step ingest` wrote for this snapshot, and read no dumps.")
    ] = False,
    fail_on: FailOnConditions = None,
    format: Findings = None,
    details: Details = False,
    metrics: Metrics = None,
    notify: NotifyUrls = None,
) -> None:
    """Run a night: ingest, every step and check, publish, and the report."""
    from jobs import ingest
    from jobs.lake.lake import open_lake
    from jobs.night import NIGHT, NightlyRun
    from jobs.report.progress import Progress
    from jobs.spark.jars import java

    started = time.monotonic()
    conditions, to = _fail_on(fail_on), _recipients(notify, "--notify")
    console = Console(highlight=False, stderr=format is not None)  # stdout has the findings alone
    values, thresholds, snapshot_id = _name_value_pairs(parameters), _limits(limits), _snapshot_id(snapshot)
    if not ingested:
        scale = ingest.source_scale(source)
    elif (folder_lake := _lake(lake)).folder:
        scale = NightlyRun(folder_lake, snapshot_id).scale
    else:  # Spark reads the scale from other storage, but its JVM cannot change compilers after its start.
        scale = Scale.LARGE
    with ThreadPoolExecutor(1) as starting:
        spark = cache(lambda: starting.submit(_spark, lake, scale))
        opened = open_lake(lake, lambda: spark().result())
        folder = _report_folder(opened, snapshot_id, report)
        if opened.needs_spark(scale):
            java()
        with opened.sole_writer():
            if opened.needs_spark(scale):
                spark()  # it starts while the dumps are read
            docs = _data_docs_folder(folder, snapshot_id)
            with Progress(console, len(NIGHT) - ingested) as progress:
                night = NightlyRun(opened, snapshot_id)
                night.run(None if ingested else source, values, thresholds, docs, progress.task, _cluster_ids(retired))
    missing = _show_report(opened, snapshot_id, folder, thresholds, format, details, metrics)
    not_sent = _send_messages(opened, snapshot_id, to, console) if to else None
    if format is None:
        _print(f"Done in {time.monotonic() - started:.1f} s. Tables: [bold]{opened.folder or lake}[/]")
        if folder:
            _print(f"Report: [bold]{folder / 'index.html'}[/]")
        _print(f'Next: [bold]topology-audit query --lake {lake} "{HARMED_PARTITIONS} WHERE latest"[/]')
    try:
        _fail_if_asked(opened, snapshot_id, conditions)
        _fail_if_incomplete(missing, snapshot_id)
    except AuditError:
        if not_sent:
            print(f"topology-audit: {not_sent}", file=sys.stderr)
        raise
    if not_sent:
        raise not_sent


@app.command()
def step(
    name: Annotated[str, typer.Argument(help="The step: ingest, or one after it, for example failover.")],
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    source: Annotated[
        str, typer.Option(help="For ingest: a folder with a folder of dumps per cluster.", show_default="the bundled snapshot")
    ] = str(BUNDLED),
    parameters: Parameters = None,
    limits: LimitsFile = None,
    report: Report = None,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead/--no-ahead",
            help="For ingest of a small night: also run the steps and checks after it, and create a file in the folder ahead of the report for each "
            "one that succeeds.",
        ),
    ] = False,
) -> None:
    """Run one step of a night: read its tables, compute, write its tables."""
    from jobs.night import JOBS

    if name not in ("ingest", *JOBS):
        raise AuditError(f"no step {name}: there are ingest, {', '.join(JOBS)}")
    thresholds = _limits(limits)
    night = _night(lake, snapshot)
    with _timed(f"step {name}"):
        if name == "ingest":
            night.ingest(source, _name_value_pairs(parameters))
        else:
            night.step(name, thresholds)
    if name == "ingest":
        from jobs.views import DuckdbViews

        print_parts(unread_file_report(DuckdbViews(night.lake), night.snapshot_id))
        if ahead and night.scale is Scale.SMALL and (folder := _report_folder(night.lake, night.snapshot_id, report)):
            _run_ahead(night, thresholds, folder)


def _run_ahead(night: NightlyRun, limits: Limits, folder: Path) -> None:
    """Run the steps and checks after ingest. A task that fails is no error here: it has no file, so its own run reports it."""

    @contextmanager
    def recorded(task: str) -> Iterator[None]:
        with _timed(task):
            yield
        (folder / AHEAD / task.replace(" ", "-")).touch()

    (folder / AHEAD).mkdir(parents=True, exist_ok=True)
    try:
        night.steps_and_checks(limits, _data_docs_folder(folder, night.snapshot_id), recorded)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        print(f"topology-audit: a task after ingest failed; its own run reports it: {reason}", file=sys.stderr)


@app.command()
def check(
    gate: Annotated[str, typer.Argument(help="ingest, computed, failover or balance.")],
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    limits: LimitsFile = None,
    report: Report = None,
) -> None:
    """Validate the tables of a gate with Great Expectations. A cluster that breaks a hard rule is not published."""
    from jobs.night import GATES

    if gate not in GATES:
        raise AuditError(f"no gate {gate}: there are {', '.join(GATES)}")
    thresholds = _limits(limits)
    night = _night(lake, snapshot)
    with _timed(f"check {gate}"):
        broken = night.check(gate, thresholds, _data_docs_folder(_report_folder(night.lake, night.snapshot_id, report), night.snapshot_id))
    for line in broken:
        _print(f"[red]withheld[/] {escape(line)}")


@app.command()
def publish(
    lake: LakeUri = DEFAULT_LAKE, snapshot: Snapshot = None, limits: LimitsFile = None, report: Report = None, retired: Retired = None
) -> None:
    """Make a snapshot visible to readers, except clusters that break a hard rule, and record every absent cluster.

    The file published.json in the report's folder has the outcome for other programs.
    """
    thresholds = _limits(limits)
    night = _night(lake, snapshot)
    with _timed("publish"):
        outcome = night.publish(thresholds, _cluster_ids(retired))
    for row in outcome.absent:
        _print(f"[red]absent[/] {escape('{cluster_id}: {reason}: {detail}'.format(**row))}")
    _print(f"Published: {escape(', '.join(outcome.published)) or 'no cluster'}")
    if folder := _report_folder(night.lake, night.snapshot_id, report):
        name_snapshot(folder, night.snapshot_id)
        written = {"snapshot_id": night.snapshot_id, "clusters": outcome.published, "absent": outcome.absent}
        (folder / "published.json").write_text(json.dumps(written, indent=1), encoding="utf-8")


@app.command()
def report(
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
    report: Report = None,
    limits: LimitsFile = None,
    fail_on: FailOnConditions = None,
    format: Findings = None,
    details: Details = False,
    metrics: Metrics = None,
) -> None:
    """Print the verdicts of a published snapshot and write its pages. The exit code is 3 if a cluster is absent."""
    from jobs.views import DuckdbViews

    conditions, thresholds, snapshot_id, opened = _fail_on(fail_on), _limits(limits), _snapshot_id(snapshot), _lake(lake)
    _check_snapshot(DuckdbViews(opened), snapshot_id, lake)
    missing = _show_report(opened, snapshot_id, _report_folder(opened, snapshot_id, report), thresholds, format, details, metrics)
    _fail_if_asked(opened, snapshot_id, conditions)
    _fail_if_incomplete(missing, snapshot_id)


@app.command()
def notify(
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="A URL of Apprise that gets the message about the night, for example json://HOST/PATH. May be repeated. A URL may contain a "
            "password: the environment variable hides it from other users.",
            envvar=NOTIFY_VARIABLE,
        ),
    ] = None,
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Snapshot = None,
) -> None:
    """Send what changed in a published snapshot since the previous one, once: all to each URL, and to an owner the findings of that owner.

    An owner is notified if the contact in topology-audit.toml is a URL of Apprise, or $NAME for a URL in the environment variable NAME. The
    exit code is 7 if a message could not be sent.
    """
    from jobs.views import DuckdbViews

    given, snapshot_id, opened = _recipients(to, "--to"), _snapshot_id(snapshot), _lake(lake)
    _check_snapshot(DuckdbViews(opened), snapshot_id, lake)
    if not_sent := _send_messages(opened, snapshot_id, given, Console(highlight=False)):
        raise not_sent


@app.command("what-if")
def what_if(
    cluster: ClusterId,
    broker: Annotated[
        list[int] | None, typer.Option(help="A broker that fails. Repeat the option for more; they fail in this order.")
    ] = None,
    rack: Annotated[list[str] | None, typer.Option(help="A rack that fails: its brokers, in the order of their ids.")] = None,
    log_dir: Annotated[
        list[str] | None, typer.Option(help="A log dir that fails after brokers and racks, for example 3:/var/lib/kafka.")
    ] = None,
    unclean: Annotated[
        Unclean, typer.Option(help="Unclean leader election: for all topics, for none, or as configured for each topic.")
    ] = Unclean.topic,
    controlled_shutdown: Annotated[
        bool, typer.Option("--controlled-shutdown", help="The brokers are stopped by a controlled shutdown, not killed.")
    ] = False,
    id: Annotated[
        str | None, typer.Option(help="The scenario_set of the result.", show_default="what-if, the time and a random part")
    ] = None,
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Annotated[str | None, typer.Option(help="A published snapshot.", show_default="the cluster's newest")] = None,
    report: Report = None,
) -> None:
    """Simulate the failure of brokers, racks or log dirs of a published cluster."""
    from jobs.report.page import sections, write_page
    from jobs.views import DuckdbViews
    from jobs.what_if import WhatIf, simulate

    if not broker and not rack and not log_dir:
        raise AuditError("a what-if needs at least one --broker, --rack or --log-dir that fails")
    request = WhatIf(
        new_id("what-if") if id is None else id,
        cluster,
        broker or (),
        rack or (),
        log_dir or (),
        {"yes": True, "no": False, "topic": None}[unclean],
        controlled_shutdown,
    )
    opened = _lake(lake)
    with _timed(f"what if, on {cluster}"):
        snapshot_id = simulate(opened, _snapshot_id(snapshot) if snapshot else None, request)
    parts = what_if_report(DuckdbViews(opened), snapshot_id, cluster, request.id)
    print_parts(parts)
    if folder := _report_folder(opened, f"{snapshot_id}/what-if/{folder_name(cluster)}/{request.id}", report):
        name_snapshot(folder, snapshot_id)
        write_page("report.html.j2", folder / "index.html", title=f"What if, on {cluster}, night {snapshot_id}", sections=sections(parts))
        _print(f"The page is in [bold]{escape(str(folder))}[/].")
    _print(f"Next: [bold]topology-audit query --lake {lake} \"{HARMED_PARTITIONS} WHERE scenario_set = '{request.id}'\"[/]")


@app.command()
def plan(
    cluster: ClusterId,
    drain: Annotated[list[int] | None, typer.Option(help="A broker to move all replicas off. May be repeated.")] = None,
    add: Annotated[list[str] | None, typer.Option(metavar="ID[:RACK]", help="A new broker. May be repeated.")] = None,
    replication_factor: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC=N", help="A new replication factor for a topic. May be repeated.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Change only these topics: make them rack-safe and move them off dead brokers. May be repeated."),
    ] = None,
    balance: Annotated[bool, typer.Option(help="Also repair the balancing goals: counts, leaders, disks, network and CPU.")] = True,
    wave_gib: Annotated[float, typer.Option(min=0.001, help="Most GiB that a wave copies.")] = 100.0,
    moves_per_broker: Annotated[int, typer.Option(min=1, help="Most replicas that a wave copies to or from one broker.")] = 100,
    network_share: Annotated[
        float,
        typer.Option(
            min=0.01, max=1.0, help="Share of a broker's network capacity that may be in use during copies; it sets the throttle."
        ),
    ] = 0.5,
    disk_limit: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=1.0,
            help="Share of a broker's disk that may be in use during copies, old and new replicas together.",
            show_default="plan_disk_share_most of the limits",
        ),
    ] = None,
    rules: Annotated[
        bool,
        typer.Option(
            help="Also validate the rules that the plan can change on the cluster after it; this takes as long as a night of the cluster."
        ),
    ] = True,
    id: Annotated[str | None, typer.Option(help="The plan's id.", show_default="plan, the time and a random part")] = None,
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Annotated[str | None, typer.Option(help="A published snapshot.", show_default="the cluster's newest")] = None,
    limits: LimitsFile = None,
    report: Report = None,
) -> None:
    """Plan the smallest reassignment that repairs a published cluster, and write it for Kafka's own tools. Nothing is executed.

    If a part of the request cannot be done, the first line names it, the plan for the rest is stored, and the exit code is 4. Files for
    Kafka's tools are then written only if nothing gets worse. A plan that makes the cluster worse is refused, also with exit code 4.
    """
    from jobs.plan.answer import answer, unfulfilled
    from jobs.plan.files import write_files
    from jobs.plan.question import PlanQuestion
    from jobs.report.plan import plan_report, write_plan_page
    from jobs.views import DuckdbViews

    brokers = {int(number): rack or None for number, _, rack in (_broker_and_rack(text).partition(":") for text in add or ())}
    factors = {name: _replication_factor(name, count) for name, count in _name_value_pairs(replication_factor).items()}
    question = PlanQuestion(
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
    opened, thresholds = _lake(lake), _limits(limits)
    with _timed(f"plan, on {cluster}"):
        planned = answer(opened, _snapshot_id(snapshot) if snapshot else None, question, thresholds, rules=rules)
        snapshot_id = planned.snapshot_id
        connection = DuckdbViews(opened)
        parts = plan_report(connection, snapshot_id, cluster, question.id)
        print_parts(parts)  # inside _timed, because the first line is what cannot be done
    if folder := _report_folder(opened, f"{snapshot_id}/plan/{folder_name(cluster)}/{question.id}", report):
        name_snapshot(folder, snapshot_id)
        files = write_files(planned, cluster, question.id, folder)
        write_plan_page(connection, snapshot_id, cluster, question.id, folder / "index.html", files=files, limits=thresholds)
        _print_plan_files(folder, files)
    _print(f"Next: [bold]topology-audit query --lake {lake} \"SELECT * FROM plan_move WHERE plan_id = '{question.id}'\"[/]")
    if missing := unfulfilled(planned, question):
        raise NoSuchPlan(f"plan {question.id} does not fulfil the whole request: {missing}")


def _print_plan_files(folder: Path, files: list[Path]) -> None:
    """Print where the files of a plan are, and the commands, which the last file contains, or that there are none."""
    if not files:
        _print(f"The page is in [bold]{escape(str(folder))}[/]. No files for Kafka's tools are written.")
        return
    _print(
        f"The page and {len(files) - 1} files for kafka-reassign-partitions and kafka-leader-election are in "
        f"[bold]{escape(str(folder))}[/]. Run there:"
    )
    typer.echo(files[-1].read_text(), nl=False)


def _broker_and_rack(text: str) -> str:
    if not re.fullmatch(r"\d{1,9}(:.+)?", text):
        raise AuditError(f"--add {text!r} must be ID or ID:RACK")
    return text


def _replication_factor(topic: str, count: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", count):
        raise AuditError(f"--replication-factor {topic}={count}: it must be a whole number, 1 or more")
    return int(count)


@app.command("check-change")
def check_change(
    cluster: ClusterId,
    reassignment: Annotated[
        Path | None, typer.Option(help="A file for kafka-reassign-partitions --reassignment-json-file.", exists=True, dir_okay=False)
    ] = None,
    topic_config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC:NAME=VALUE",
            help="A new min.insync.replicas or unclean.leader.election.enable of a topic. May be repeated.",
        ),
    ] = None,
    lake: LakeUri = DEFAULT_LAKE,
    snapshot: Annotated[str | None, typer.Option(help="A published snapshot.", show_default="the cluster's newest")] = None,
    format: Annotated[ChangeFormat, typer.Option(help="Output format.")] = ChangeFormat.text,
) -> None:
    """Check whether a proposed change of a published cluster makes any failure worse. Nothing is executed or stored.

    The exit code is 4 if a failure of a broker or rack, all pairs of brokers together, or the cluster without a failure would harm more
    partitions, or if a reassignment cannot complete.
    """
    from jobs.plan.proposed_change import ProposedChange, check_published, parse_topic_configs, read_reassignment
    from jobs.report.proposed_change import proposed_change_json, proposed_change_report

    if reassignment is None and not topic_config:
        raise AuditError("check-change needs a change: --reassignment FILE or --topic-config TOPIC:NAME=VALUE")
    change = ProposedChange(read_reassignment(reassignment) if reassignment else {}, parse_topic_configs(topic_config or ()))
    checked = check_published(_lake(lake), _snapshot_id(snapshot) if snapshot else None, cluster, change)
    if format is ChangeFormat.json:
        _write_stdout(proposed_change_json(checked))
    else:
        print_parts(proposed_change_report(checked))
    if checked.worse:
        names = [changed.scenario_id for changed in checked.worse]
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        raise NoSuchPlan(f"the change makes it worse: {', '.join(names[:_MAX_NAMED])}{more}")
    if checked.incomplete:
        raise NoSuchPlan(f"{len(checked.incomplete)} reassignments cannot complete")


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT on the published views, for example SELECT * FROM verdict WHERE latest")],
    lake: LakeUri = DEFAULT_LAKE,
    engine: Annotated[
        Engine, typer.Option(help="DuckDB answers in a second; Spark reads every storage that it is configured for.")
    ] = Engine.duckdb,
    rows: Annotated[int, typer.Option(help="Most rows to print; a note on stderr reports if there are more.", min=1)] = 100,
    format: Annotated[
        Format | None,
        typer.Option(
            help="Output format. A table wider than the terminal is printed as vertical. Numbers in csv and json are exact.",
            show_default="table on a terminal, csv elsewhere",
        ),
    ] = None,
) -> None:
    """Run a SQL query on the published views. A query can only read."""
    from jobs.views import query_duckdb, query_spark

    names, values = (query_duckdb if engine == Engine.duckdb else query_spark)(_lake(lake), sql, rows + 1)
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    _write_stdout(query_output.text(names, values[:rows], format or (Format.table if terminal else Format.csv), width))
    if len(values) > rows:
        print(f"only the first {rows} rows are printed: --rows prints more", file=sys.stderr)
    elif terminal:
        print(f"{len(values)} row{'' if len(values) == 1 else 's'}", file=sys.stderr)


@app.command()
def views(lake: LakeUri = DEFAULT_LAKE, engine: Annotated[Engine, typer.Option(help="The SQL dialect.")] = Engine.spark) -> None:
    """Print the SQL that creates the published views in your own session."""
    from jobs.views import script

    print(script(_lake(lake), engine), end="")


@app.command()
def describe(
    name: Annotated[str | None, typer.Argument(help="A table, view or rule.", show_default="a list of all of them")] = None,
) -> None:
    """Describe a table, view or rule: its columns with their units, an example query, what the rule requires."""
    from jobs.report import data_dictionary

    _write_stdout(data_dictionary.describe(name, shutil.get_terminal_size().columns))


@app.command()
def capture(
    folder: Annotated[Path, typer.Argument(help="The cluster's folder, FOLDER/CLUSTER, where FOLDER is the source of `nightly`.")],
    bootstrap_server: Annotated[str | None, typer.Option(help="HOST:PORT, comma-separated.", show_default="from the properties")] = None,
    command_config: Annotated[Path | None, typer.Option(help="A client.properties file, as for Kafka's own tools.", dir_okay=False)] = None,
    key_records: Annotated[int, typer.Option(min=0, help="Read this many of the last records of each partition, for their keys.")] = 0,
    login_jar: Annotated[
        list[Path] | None, typer.Option(help="A jar of a login module that is not part of Kafka. May be repeated.", exists=True)
    ] = None,
) -> None:
    """Read a live cluster through its admin API and save the result as a dump."""
    from jobs.capture import capture_clusters
    from jobs.capture.connection import from_file

    text = from_file(command_config, bootstrap_server)
    name = folder.resolve().name
    with _timed(f"capture {name}"):
        unread = capture_clusters(
            str(folder.resolve().parent),
            {name: lambda client: client.properties(text)},
            login_jars=[str(jar) for jar in login_jar or ()],
            key_records=key_records,
        )
    if unread:
        raise AuditError(f"cluster {name} cannot be read; its capture contains the reason: {unread[name]}")
    _print(f"Next: [bold]topology-audit nightly {folder.resolve().parent}[/]")


@app.command()
def generate(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder for the dumps, one folder per cluster. It must not contain dumps yet.")
    ] = None,
    lake: Annotated[
        str | None, typer.Option(help="Write the tables of ingest into this lake instead of dumps; for fleets of any size.")
    ] = None,
    snapshot: Snapshot = None,
    clusters: Annotated[int, typer.Option(min=1, help="Number of clusters.")] = 2,
    brokers: Annotated[int, typer.Option(min=1, help="In each cluster.")] = 6,
    racks: Annotated[int, typer.Option(min=0, help="In each cluster; 0 for none.")] = 3,
    topics: Annotated[int, typer.Option(min=1, help="In each cluster.")] = 20,
    partitions: Annotated[int, typer.Option(min=1, help="On average, in each topic.")] = 6,
    groups: Annotated[int, typer.Option(min=0, help="Consumer groups in each cluster.")] = 5,
    keys: Annotated[int, typer.Option(min=1, help="Sampled keys of each topic.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same fleet.")] = 0,
) -> None:
    """Generate a fleet to try the audit on, as dumps or as tables."""
    from jobs.generate import Fleet, dumps, tables
    from jobs.spark.session import configure_for_scale

    fleet = Fleet(clusters, brokers, racks, topics, groups, partitions, keys, seed)
    if (folder is None) == (lake is None):
        raise AuditError("generate needs a folder for dumps or a --lake for tables, and not both")
    if folder is not None:
        dumps.write(folder, fleet)
        _print(f"Next: [bold]topology-audit nightly {folder}[/]")
        return
    night = _night(lake, snapshot)
    with night.lake.sole_writer(), _timed("generate"):
        configure_for_scale(spark := night.lake.spark(), Scale.LARGE)
        night.begin([*tables.tables(spark, fleet, night.snapshot_id).values()], {}, Scale.LARGE)
    _print(f"Next: [bold]topology-audit nightly --ingested --lake {lake} --snapshot {night.snapshot_id}[/]")


@app.command()
def maintain(
    lake: LakeUri = DEFAULT_LAKE,
    keep_nights: Annotated[int, typer.Option(min=1, help="Number of the newest published nights to keep.")] = 400,
    vacuum_hours: Annotated[
        int,
        typer.Option(
            min=24,
            help="Remove files that no table version of the last hours uses. A running night has such files, so allow more than its duration.",
        ),
    ] = 168,
    reports: Annotated[
        Path | None,
        typer.Option(help="Airflow's folder of reports (Variable topology_reports); reports of deleted nights are deleted there too."),
    ] = None,
) -> None:
    """Delete expired nights, their reports, and attempts that a rerun superseded; compact the files of the others."""
    from jobs.lake.maintenance import expired, maintain_tables
    from jobs.report.folder import delete_reports
    from jobs.schema import SNAPSHOT

    with (opened := _lake(lake)).sole_writer(), _timed("maintain"):
        nights, superseded = maintain_tables(opened, keep_nights=keep_nights, vacuum_hours=vacuum_hours)
        published = opened.read_local(SNAPSHOT).to_pylist()
        deleted = [
            folder
            for root in (opened.folder and opened.folder / "reports", reports)
            if root
            for folder in delete_reports(
                root, lambda ids: expired(published, ids, keep_nights), unchanged_since=time.time() - vacuum_hours * 3600
            )
        ]
    span = f" ({nights[0]} to {nights[-1]})" if nights else ""
    _print(f"deleted {len(nights)} nights{span}, {len(superseded)} superseded attempts and {len(deleted)} reports")


@app.command()
def airflow(
    source: Annotated[
        Path, typer.Option(help="A folder with a folder of dumps per cluster.", show_default="the bundled snapshot")
    ] = BUNDLED,
    lake: Annotated[Path, typer.Option(help="The folder of the Delta tables.", envvar="TOPOLOGY_LAKE")] = Path(DEFAULT_LAKE),
    home: Annotated[Path, typer.Option(help="Airflow's home folder.", envvar="AIRFLOW_HOME")] = Path("lake/airflow"),
    port: Annotated[int, typer.Option(help="Port of the UI on 127.0.0.1.")] = 8080,
) -> None:
    """Start Airflow on this machine with the DAGs configured for this lake. Stop it with Ctrl-C."""
    from jobs.airflow import environment
    from jobs.spark.session import properties_file

    settings = {scale: properties_file(scale) for scale in Scale}
    wired = environment(lake=lake.resolve(), source=source.resolve(), home=home.resolve(), spark_properties=settings, port=port)
    _print(f"Airflow on http://127.0.0.1:{port}, with the user and password that it prints below. Stop it with Ctrl-C.")
    os.execve(Path(sys.executable).with_name("airflow"), ["airflow", "standalone"], os.environ | wired)


def _show_report(
    lake: Lake, snapshot_id: str, folder: Path | None, limits: Limits, format: FindingFormat | None, details: bool, metrics: Path | None
) -> list[AbsentCluster]:
    """Print the verdicts, in detail or on one screen, or the findings in a format; write pages and metrics, and return the absent clusters."""
    from jobs.report.metrics import write_metrics
    from jobs.report.night_pages import write_night_pages
    from jobs.report.summary import night_summary
    from jobs.views import DuckdbViews

    connection = DuckdbViews(lake)
    if format is not None:
        _write_stdout(formatted_findings(connection, snapshot_id, format))
    elif details:
        unread = unread_file_report(connection, snapshot_id)
        print_parts([*absent_cluster_report(connection, snapshot_id), *night_report(connection, snapshot_id), *unread])
    else:
        print_parts([*night_summary(connection, snapshot_id, shutil.get_terminal_size().columns)])
    if folder:
        docs = "validation/index.html"
        name_snapshot(folder, snapshot_id)
        write_night_pages(connection, snapshot_id, folder, data_docs=docs if (folder / docs).exists() else None, limits=limits)
    for file in filter(None, (metrics, folder and folder / "metrics.prom")):
        write_metrics(connection, file)
    return absent_clusters(connection, snapshot_id)


def _recipients(urls: list[str] | None, option: str) -> list[Recipient]:
    """Return the recipients of an option; raise an AuditError for an invalid URL before anything runs."""
    from jobs.notify.delivery import recipients

    return recipients(urls or (), option)


def _send_messages(lake: Lake, snapshot_id: str, to: list[Recipient], console: Console) -> NotSent | None:
    """Send what changed in a night, print who got it, and return an error if somebody did not."""
    from jobs.notify.delivery import deliver, owner_recipients
    from jobs.views import DuckdbViews

    connection = DuckdbViews(lake)
    everybody = [*to, *owner_recipients(connection, snapshot_id)]
    if not everybody:
        raise AuditError(
            f"nobody to notify: give --to a URL, set the variable {NOTIFY_VARIABLE}, or give an [[owner]] a URL as its contact"
        )
    delivery = deliver(lake, connection, snapshot_id, everybody)
    for words, names in (("Sent to", delivery.sent), ("Sent before to", delivery.already_sent)):
        if names:
            console.print(f"{words} {escape(', '.join(names))}", soft_wrap=True)
    if not any(delivery):
        console.print(f"Nothing changed in night {escape(snapshot_id)}: no message.", soft_wrap=True)
    if delivery.failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in delivery.failed.items())
        return NotSent(f"not sent to {reasons}: the night is published, run `topology-audit notify --snapshot {snapshot_id}`")
    return None


def _fail_on(given: list[str] | None) -> list[str]:
    """Return the conditions of --fail-on; raise an AuditError for an unknown one before anything runs."""
    from expectations.finding import RULES

    return fail_on.conditions(given or (), list(RULES))


def _fail_if_asked(lake: Lake, snapshot_id: str, conditions: list[str]) -> None:
    from jobs.views import DuckdbViews

    if lines := fail_on.fulfilled(DuckdbViews(lake), snapshot_id, conditions):
        more = f"; and {len(lines) - _MAX_NAMED} more" if len(lines) > _MAX_NAMED else ""
        raise FailOn(f"--fail-on: {'; '.join(lines[:_MAX_NAMED])}{more}")


def _check_snapshot(connection: DuckdbViews, snapshot_id: str, lake: str) -> None:
    """Raise an AuditError if the lake does not have this snapshot, or the snapshot is not published."""
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


def _fail_if_incomplete(absent: list[AbsentCluster], snapshot_id: str) -> None:
    if absent:
        named = [f"{cluster.cluster_id} ({cluster.reason}: {cluster.detail})" for cluster in absent[:_MAX_NAMED]]
        more = f", and {len(absent) - _MAX_NAMED} more" if len(absent) > _MAX_NAMED else ""
        raise IncompleteNight(f"absent from snapshot {snapshot_id} (view absent_cluster): {', '.join(named)}{more}")


def _cluster_ids(given: list[str] | None) -> set[str]:
    return {id.strip() for each in given or () for id in each.split(",") if id.strip()}


def _night(lake: str, snapshot: str | None) -> NightlyRun:
    from jobs.night import NightlyRun

    return NightlyRun(_lake(lake), _snapshot_id(snapshot))


def _lake(uri: str) -> Lake:
    from jobs.lake.lake import open_lake

    return open_lake(uri, lambda: _spark(uri))


@cache  # a second call would reset what was configured for the size of the night
def _spark(lake: str, scale: Scale = Scale.SMALL) -> SparkSession:
    from jobs.spark.session import session

    return session(scale, s3=lake.startswith("s3a://"))


def _snapshot_id(text: str | None) -> str:
    """The given snapshot id, or today's."""
    return snapshot_name(text or f"{datetime.now(UTC):%Y-%m-%d}")


def _name_value_pairs(given: list[str] | None) -> dict[str, str]:
    pairs = dict(pair.partition("=")[::2] for pair in given or ())
    if wrong := [pair for pair in given or () if "=" not in pair]:
        raise AuditError(f"--set {wrong[0]!r} must be NAME=VALUE")
    return pairs


def _report_folder(lake: Lake, name: str, given: Path | None) -> Path | None:
    """The folder of a report: the given one, or one in the lake; None if the lake is not a folder and none is given."""
    folder = given or (lake.folder / "reports" / name if lake.folder else None)
    return folder.resolve() if folder else None  # Great Expectations needs an absolute path


def _data_docs_folder(folder: Path | None, snapshot_id: str) -> str | None:
    if folder is None:
        return None
    name_snapshot(folder, snapshot_id)
    return str(folder / "validation")


def _limits(path: Path | None) -> Limits:
    from expectations.limits import limits

    return limits(path)


def _write_stdout(text: str) -> None:
    """Write to stdout; a reader that closes the pipe early, such as `head`, is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(text: str) -> None:
    Console(highlight=False, soft_wrap=True).print(text)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    """Print the name of a task and its duration when it has ended."""
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
        if hasattr(error, "format_message"):  # an exception of Click, whose class Typer does not export
            print(f"topology-audit: {' '.join(error.format_message().split())} (see --help)", file=sys.stderr)
            sys.exit(2)
        # users read one line; developers find the trace in a file
        _print_unexpected(error)
        sys.exit(1)


def _print_unexpected(error: Exception) -> None:
    from jobs.spark.jars import CACHE

    name, lines = type(error).__name__, str(error).strip().splitlines() or [""]
    if "Concurrent" in f"{name}{lines[0]}" or "DELTA_CONCURRENT" in lines[0]:
        print(
            f"topology-audit: another run wrote to the same snapshot at the same time ({lines[0][:200]}): run again when it has ended",
            file=sys.stderr,
        )
        return
    trace = CACHE / "last-error.txt"
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.write_text(traceback.format_exc(), encoding="utf-8")
    print(f"topology-audit: unexpected {name}: {lines[0][:300]} (full trace: {trace})", file=sys.stderr)


if __name__ == "__main__":
    main()
