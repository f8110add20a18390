"""check: what Great Expectations says of the tables of a gate, cluster by cluster: the rows of `validation`, and the Data Docs.

Every rule of expectations/<table>.py, and the key of every table, is judged by GX on the rows of the snapshot. A rule's result holds
the broken rows of each cluster, so that one cluster's fault is its own. A rule that cannot be asked, such as for a misspelt column,
is an error and no verdict: GX alone would call it a failed rule.

Rules are written in Spark's SQL, and Spark answers them. Those that read tables of a folder, not too large, DuckDB answers, in a
process without Spark, from their files, with the rules in its own dialect: to plan a hundred queries costs Spark half a minute of its
processor, however few the rows; and of fifty million rows it tells in eleven seconds that they have keys of their own, where Spark
shuffles for three minutes.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from filelock import FileLock

from jobs.errors import AuditError
from jobs.lake.lake import Lake
from jobs.schema import BY_NAME, CLUSTER, INPUT_FILE, REJECTED_INPUT, VALIDATION, Table

if TYPE_CHECKING:  # importing GX takes seconds, and most commands do not judge
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.data_context import EphemeralDataContext
    from great_expectations.expectations.expectation import Expectation
    from pyspark.sql import DataFrame

    from expectations.limits import Limits

# What Spark's SQL has and DuckDB's has not, nor a translation of it. DuckDB combines columns by XOR, and rules rows: without a second hash two
# rows that swap a value would be the same.
_HASHED = ", ".join(f"({names}) AS hash(hash({names}))" for names in (", ".join("abcdefgh"[:columns]) for columns in range(1, 9)))
_MACROS = f"CREATE MACRO get(list, place) AS list[place + 1]; CREATE MACRO xxhash64{_HASHED};"
_THREADS = 4
_MEMORY = "768MiB"  # of DuckDB, which goes on on disk beyond it
_MOST_BYTES = 4 << 30  # of a table's Parquet: what one process judges in less time than Spark on a machine or two
PREVIOUS = "previous_"
# They also have the files beside the folders of the clusters, and those of a cluster of which no file could be read.
_NOT_OF_CLUSTERS_ALONE = (INPUT_FILE.name, REJECTED_INPUT.name)


def check(
    lake: Lake,
    snapshot_id: str,
    suites: Sequence[str],
    *,
    earlier: Mapping[str, str],
    limits: Limits,
    docs: str | None,
    judges: Executor | None = None,
) -> pa.Table:
    """The rows of `validation`, but for their gate: one for each cluster of the snapshot, suite and rule. `docs` is the folder of the night's Data Docs.

    `earlier` names each cluster's previous snapshot, whose tables rules know as `previous_<table>`. What DuckDB judges is judged by one of
    the `judges`, if there are any, else here.
    """
    asked = {"earlier": earlier, "limits": limits, "docs": docs}
    if judges is None:
        rows, large = _by_duckdb(lake, snapshot_id, suites, **asked)
    else:
        rows, large = judges.submit(_by_duckdb, replace(lake, spark=_no_spark), snapshot_id, suites, **asked).result()
    return pa.concat_tables([*rows, *([_by_spark(lake, snapshot_id, large, **asked)] if large else [])])


@contextmanager
def judges() -> Iterator[Executor]:
    """Processes that judge. They are forked from one that imports GX, which takes seconds of a core, while Spark starts in this one."""
    forkserver.set_forkserver_preload(["jobs.docs_view", "expectations.rule", "duckdb", "sqlglot"])
    resource_tracker.ensure_running()  # else started with the other, and it would let interrupts through again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what is forked inherits that: an interrupt is for this process to handle
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with ProcessPoolExecutor(2, get_context("forkserver"), initializer=_end_with_parent) as processes:
        yield processes


def _end_with_parent() -> None:
    """Else a judge whose parent was killed would wait for ever."""
    parent = parent_process()

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _no_spark() -> NoReturn:
    raise RuntimeError("a judge has no Spark")


def _by_duckdb(
    lake: Lake, snapshot_id: str, suites: Sequence[str], *, earlier: Mapping[str, str], limits: Limits, docs: str | None
) -> tuple[list[pa.Table], list[str]]:
    """What of these DuckDB judges, and the suites with tables that are too large for it."""
    rules = {suite: rules_of(suite, limits) for suite in suites}
    needed = {suite: judged_by(suite, rules[suite]) for suite in suites}

    def query(name: str) -> str | None:
        table = BY_NAME[name.removeprefix(PREVIOUS)]
        return (
            lake.duckdb_query(table, max_bytes=_MOST_BYTES, snapshots=earlier)
            if name.startswith(PREVIOUS)
            else lake.duckdb_query(table, max_bytes=_MOST_BYTES, snapshot_id=snapshot_id)
        )

    scans = {name: scan for name in sorted(set().union(*needed.values())) if (scan := query(name)) is not None}
    small = {suite: of_suite for suite, of_suite in rules.items() if needed[suite] <= scans.keys()}
    rows = [judge(InDuckdb(scans), small, snapshot_id, docs=docs)] if small else []
    return rows, [suite for suite in suites if suite not in small]


def _by_spark(
    lake: Lake, snapshot_id: str, suites: Sequence[str], *, earlier: Mapping[str, str], limits: Limits, docs: str | None
) -> pa.Table:
    rules = {suite: rules_of(suite, limits) for suite in suites}

    def frame(name: str) -> DataFrame:
        table = BY_NAME[name.removeprefix(PREVIOUS)]
        return lake.read(table, snapshots=earlier) if name.startswith(PREVIOUS) else lake.read(table, snapshot_id=snapshot_id)

    names = sorted({name for suite in suites for name in judged_by(suite, rules[suite])})
    return judge(InSpark({name: frame(name) for name in names}), rules, snapshot_id, docs=docs)


def judged_by(suite: str, rules: Iterable[Expectation]) -> set[str]:
    """The tables that a suite is judged by: its own, those that it reads, of the night before too, and those by which it tells."""
    told = " ".join(rule.meta.get("told") or "" for rule in rules)
    named = set(re.findall(r"\w+", told)) & BY_NAME.keys()
    before = {f"{PREVIOUS}{table.name}" for table in _reads(suite, "READS_PREVIOUS")}
    return {CLUSTER.name, suite, *(table.name for table in _reads(suite)), *named, *before}


class InDuckdb:
    """Tables in this process, or queries for them, and the answers to queries on them."""

    threads = 1

    def __init__(self, tables: Mapping[str, pa.Table | str]) -> None:
        import duckdb

        self._connection = duckdb.connect(
            config={"memory_limit": _MEMORY, "temp_directory": tempfile.gettempdir(), "preserve_insertion_order": False}
        )
        self._connection.execute(_MACROS)
        for name, rows in tables.items():
            if isinstance(rows, str):
                self._connection.execute(f"CREATE VIEW {name} AS {rows}")
            else:
                self._connection.register(name, rows)

    def ask(self, query: str) -> list[dict[str, Any]]:
        return self._connection.sql(_in_duckdb(query)).to_arrow_table().to_pylist()

    def share(self, queries: Iterable[str]) -> None:
        """Rows in memory are read at no cost, each query for itself."""

    def broken_rows(self, query: str) -> list[dict[str, Any]]:
        """How many rows of each cluster a query returns, and the first of them as JSON."""
        counted = "SELECT cluster_id, count(*) AS broken_rows, min(CAST(to_json(broken) AS VARCHAR)) AS example FROM"
        found = self._connection.sql(f"{counted} ({_in_duckdb(query)}) AS broken GROUP BY cluster_id ORDER BY cluster_id")
        return found.to_arrow_table().to_pylist()

    def batch(self, context: EphemeralDataContext, suite: str) -> tuple[Any, Any]:
        """The suite's table in GX's own terms."""
        import pandas as pd

        # Rules are answered by queries: of the batch, GX needs no row.
        return context.data_sources.add_pandas(suite), BY_NAME[suite].schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)


class InSpark:
    """The same of tables of any size."""

    threads = _THREADS

    def __init__(self, tables: Mapping[str, DataFrame]) -> None:
        self.tables = tables
        for name, df in tables.items():
            df.createOrReplaceTempView(name)
        self._spark = next(iter(tables.values())).sparkSession
        self._answered: dict[str, list[dict[str, Any]]] = {}

    def ask(self, query: str) -> list[dict[str, Any]]:
        return [row.asDict() for row in self._spark.sql(query).collect()]

    def share(self, queries: Iterable[str]) -> None:
        """Answer those of the queries that look at the same rows one by one in a single scan of these."""
        from pyspark.errors import PySparkException

        from expectations.shared_scan import RowRule, counted, row_rule

        by_source: dict[str, dict[str, RowRule]] = {}
        for query in queries:
            if (rule := row_rule(query)) is not None:
                by_source.setdefault(rule.source, {})[query] = rule
        for rules in by_source.values():
            try:
                rows = self.ask(counted(list(rules.values()))) if len(rules) > 1 else None
            except PySparkException:  # one of them cannot be asked: each for itself says so
                rows = None
            for place, query in enumerate(rules if rows is not None else ()):
                names = {"cluster_id": "cluster_id", "broken_rows": f"rows_{place}", "example": f"example_{place}"}
                self._answered[query] = [{name: row[of] for name, of in names.items()} for row in rows if row[names["broken_rows"]]]

    def broken_rows(self, query: str) -> list[dict[str, Any]]:
        if (answered := self._answered.get(query)) is not None:
            return answered
        counted = "SELECT cluster_id, count(*) AS broken_rows, min(to_json(struct(*))) AS example FROM"
        return self.ask(f"{counted} ({query}) GROUP BY cluster_id ORDER BY cluster_id")

    def batch(self, context: EphemeralDataContext, suite: str) -> tuple[Any, Any]:
        # A source each: GX keeps the batch in hand in its source's engine, and suites are judged side by side.
        return context.data_sources.add_spark(suite, persist=False), self.tables[suite]


def _in_duckdb(query: str) -> str:
    import sqlglot

    (translated,) = sqlglot.transpile(query, read="spark", write="duckdb")
    return translated


def judge(tables: InDuckdb | InSpark, rules: Mapping[str, Sequence[Expectation]], snapshot_id: str, *, docs: str | None) -> pa.Table:
    """The same for tables in hand: each suite's own, those that its rules name, and `cluster`."""
    clusters = [row["cluster_id"] for row in tables.ask(f"SELECT DISTINCT cluster_id FROM {CLUSTER.name} ORDER BY cluster_id")]
    if not clusters:
        raise AuditError(f"snapshot {snapshot_id} has no cluster to judge: ingest it first")
    context = _context(docs)
    told = _clusters_that_tell(tables.ask, rules)
    with ThreadPoolExecutor(tables.threads) as pool:
        results = list(pool.map(lambda suite: _judge_suite(context, suite, rules[suite], tables, snapshot_id), rules))
    if docs is not None:
        with FileLock(f"{docs}/.building"):  # the list of pages is made from what is there: two at once could each miss the other's
            _build_docs(context, rules, snapshot_id)
            shutil.rmtree(f"{docs}/static", ignore_errors=True)  # GX's logos, fonts and styles, 4 MB: no page loads them
    rows = [row for suite, result in zip(rules, results, strict=True) for row in _verdicts(snapshot_id, clusters, suite, result, told)]
    schema = pa.schema([field for field in VALIDATION.schema if field.name != "gate"])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def rules_of(suite: str, limits: Limits) -> list[Expectation]:
    """The rules of a table: that its key tells its rows apart, and those of its own."""
    from expectations.rule import one_row_per_key

    module = _module(suite)
    return [one_row_per_key(BY_NAME[suite]), *(module.expectations(limits) if module else [])]


def _module(suite: str) -> Any:
    name = f"expectations.{suite}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _reads(suite: str, which: str = "READS") -> tuple[Table, ...]:
    return getattr(_module(suite), which, ())


def _context(docs: str | None) -> EphemeralDataContext:
    """GX without a project, without statistics sent and without progress bars; results and pages go to the folder of the docs."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    def folder(name: str) -> dict[str, str]:
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": f"{docs}{name}"}

    defaults = InMemoryStoreBackendDefaults()
    sites = {}
    if docs is not None:
        # Checks of one night may be processes of their own: what they find stays beside the pages, for the index to name all of it.
        defaults.stores[defaults.expectations_store_name]["store_backend"] = folder("/results/suites")
        defaults.stores[defaults.validation_results_store_name]["store_backend"] = folder("/results/validations")
        page, index, renderer = (
            {"module_name": "jobs.docs_view", "class_name": name} for name in ("PageView", "IndexView", "IndexRenderer")
        )
        sites = {
            "night": {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": folder(""),
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder", "renderer": renderer, "view": index},
                "site_section_builders": {"expectations": {"view": page}, "validations": {"view": page}},
            }
        }
    config = DataContextConfig(
        store_backend_defaults=defaults, data_docs_sites=sites, analytics_enabled=False, progress_bars={"globally": False}
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _judge_suite(
    context: EphemeralDataContext, suite: str, rules: Iterable[Expectation], tables: InDuckdb | InSpark, snapshot_id: str
) -> ExpectationSuiteValidationResult:
    """What GX says of a suite's rules on its table."""
    import great_expectations as gx
    from great_expectations.core.run_identifier import RunIdentifier

    from expectations.rule import ASKING

    source, df = tables.batch(context, suite)
    definition = gx.ValidationDefinition(
        name=suite,
        data=source.add_dataframe_asset(suite).add_batch_definition_whole_dataframe(snapshot_id),
        suite=context.suites.add_or_update(gx.ExpectationSuite(suite, expectations=list(rules))),
    )
    run = RunIdentifier(run_name=snapshot_id, run_time=datetime.now(UTC))
    tables.share([rule.unexpected_rows_query.replace("{batch}", suite) for rule in definition.suite.expectations])
    ASKING.set(lambda query: tables.broken_rows(query.replace("{batch}", suite)))
    return context.validation_definitions.add(definition).run(batch_parameters={"dataframe": df}, result_format="BASIC", run_id=run)


def _clusters_that_tell(ask: Callable[[str], list[dict[str, Any]]], rules: Mapping[str, Sequence[Expectation]]) -> dict[str, set[str]]:
    """Of each query for the clusters that tell what a rule needs, the clusters."""
    queries = sorted({rule.meta["told"] for suite in rules.values() for rule in suite if rule.meta.get("told")})
    if not queries:
        return {}
    asked = " UNION ALL ".join(f"SELECT DISTINCT {number} AS query, cluster_id FROM ({query})" for number, query in enumerate(queries))
    told: dict[str, set[str]] = {query: set() for query in queries}
    try:
        found = ask(asked)
    except Exception as error:  # each engine's own
        raise AuditError(f"what rules need cannot be asked for: {_first_line(str(error))}") from error
    for row in found:
        told[queries[row["query"]]].add(row["cluster_id"])
    return told


def _verdicts(
    snapshot_id: str, clusters: Sequence[str], suite: str, result: ExpectationSuiteValidationResult, told: Mapping[str, set[str]]
) -> Iterable[tuple[Any, ...]]:
    from expectations.rule import HARD

    for outcome in result.results:
        rule = outcome.expectation_config
        _raise_if_not_asked(f"{suite}.{rule.meta['rule']}", outcome.exception_info)
        broken = {row["cluster_id"]: row for row in outcome.result["details"]["clusters"]}
        strangers = broken.keys() - set(clusters)
        if strangers and suite not in _NOT_OF_CLUSTERS_ALONE:
            raise AuditError(f"rule {suite}.{rule.meta['rule']} is broken by clusters that the snapshot does not have: {sorted(strangers)}")
        for cluster_id in clusters:
            rows = broken.get(cluster_id, {"broken_rows": 0, "example": None})
            tells = not rule.meta.get("told") or cluster_id in told[rule.meta["told"]]
            success = False if rows["broken_rows"] else True if tells else None
            severity = "hard" if rule.severity == HARD else "soft"
            name, count, example = rule.meta["rule"], rows["broken_rows"], rows["example"]
            yield snapshot_id, cluster_id, suite, name, severity, success, count, example, rule.description


def _raise_if_not_asked(rule: str, exception_info: Mapping[str, Any]) -> None:
    """GX tells an exception flat, or by the metric that raised it."""
    for info in [exception_info, *(value for value in exception_info.values() if isinstance(value, Mapping))]:
        if info.get("raised_exception"):
            raise AuditError(f"rule {rule} cannot be asked: {_first_line(info['exception_message'])}")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _build_docs(context: EphemeralDataContext, suites: Iterable[str], snapshot_id: str) -> None:
    """Add these suites to the pages, in place of what an earlier run of the same check told."""
    store, newest = context.validation_results_store, {}
    for key in sorted(store.list_keys(), key=lambda key: key.run_id.run_time):
        suite = key.expectation_suite_identifier.name
        if suite in set(suites) and key.run_id.run_name == snapshot_id:
            if suite in newest:
                store.remove_key(newest[suite])
            newest[suite] = key
    context.build_data_docs(resource_identifiers=[*newest.values(), *(key.expectation_suite_identifier for key in newest.values())])
