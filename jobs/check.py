"""check: what Great Expectations says of the tables of a gate, cluster by cluster: the rows of `validation`, and the Data Docs.

Every rule of expectations/<table>.py, and the key of every table, is judged by GX on the rows of the snapshot. A rule's result holds
the broken rows of each cluster, so that one cluster's fault is its own. A rule that cannot be asked, such as for a misspelt column,
is an error and no verdict: GX alone would call it a failed rule.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from jobs.errors import AuditError
from jobs.tables import BY_NAME, CLUSTER, VALIDATION, Table

if TYPE_CHECKING:  # importing GX takes seconds, and most commands do not judge
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.data_context import EphemeralDataContext
    from great_expectations.expectations.expectation import Expectation

    from expectations.limits import Limits

# A table of up to so many rows is fetched once and asked in memory: on Delta, each question would read it anew.
_SMALL = 100_000
_THREADS = 4
# Nulls in an example row are worth seeing. A plan over few rows costs more to adapt and to compile than to run.
_SETTINGS = {"spark.sql.jsonGenerator.ignoreNullFields": "false", "spark.sql.adaptive.enabled": "false"}
_UNCOMPILED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def check(spark: SparkSession, lake: str, snapshot_id: str, suites: Sequence[str], *, limits: Limits, docs: str | None) -> DataFrame:
    """The rows of `validation`: one for each cluster of the snapshot, suite and rule. `docs` is the folder of the night's Data Docs."""
    asking = quick_session(spark)
    rules = {suite: rules_of(suite, limits) for suite in suites}
    needed = {CLUSTER.name: CLUSTER} | {table.name: table for suite in suites for table in (BY_NAME[suite], *_reads(suite))}
    with ThreadPoolExecutor(_THREADS) as pool:
        fetched = list(pool.map(lambda table: _fetch(asking, table, lake, snapshot_id), needed.values()))
    if not all(small for _, small in fetched):
        for name in _UNCOMPILED:
            asking.conf.unset(name)
    tables = {name: df for name, (df, _) in zip(needed, fetched, strict=True)}
    return spark.createDataFrame(judge(asking, tables, rules, snapshot_id, docs=docs), VALIDATION.columns)


def quick_session(spark: SparkSession) -> SparkSession:
    """A session for questions to few rows, whose settings and views are of no concern to others."""
    asking = spark.newSession()
    for name, value in (_SETTINGS | _UNCOMPILED).items():
        asking.conf.set(name, value)
    return asking


def judge(
    spark: SparkSession, tables: Mapping[str, DataFrame], rules: Mapping[str, Sequence[Expectation]], snapshot_id: str, *, docs: str | None
) -> list[tuple[Any, ...]]:
    """The same for tables in hand: each suite's own, those that its rules name, and `cluster`."""
    for name, df in tables.items():
        df.createOrReplaceTempView(name)
    clusters = [row.cluster_id for row in tables[CLUSTER.name].select("cluster_id").distinct().orderBy("cluster_id").collect()]
    if not clusters:
        raise AuditError(f"snapshot {snapshot_id} has no cluster to judge: ingest it first")
    context = _context(docs)
    with ThreadPoolExecutor(_THREADS) as pool:
        telling = pool.submit(_clusters_that_tell, spark, rules)
        results = list(pool.map(lambda suite: _ask(context, suite, rules[suite], tables[suite], snapshot_id), rules))
        told = telling.result()
    if docs is not None:
        _build_docs(context, rules, snapshot_id)
    return [row for suite, result in zip(rules, results, strict=True) for row in _verdicts(snapshot_id, clusters, suite, result, told)]


def rules_of(suite: str, limits: Limits) -> list[Expectation]:
    """The rules of a table: that its key tells its rows apart, and those of its own."""
    from expectations.rule import one_row_per_key

    module = _module(suite)
    return [one_row_per_key(BY_NAME[suite]), *(module.expectations(limits) if module else [])]


def _module(suite: str) -> Any:
    name = f"expectations.{suite}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _reads(suite: str) -> tuple[Table, ...]:
    module = _module(suite)
    return module.READS if module else ()


def _fetch(spark: SparkSession, table: Table, lake: str, snapshot_id: str) -> tuple[DataFrame, bool]:
    """The rows of the snapshot, and whether they are few: then they are here, and read no more."""
    df = table.read(spark, lake, snapshot_id=snapshot_id)
    some = df.coalesce(1).limit(_SMALL + 1).toArrow()  # one task, which stops once it has so many
    small = some.num_rows <= _SMALL
    # In one partition, joins and groups need no shuffle.
    return (spark.createDataFrame(some, df.schema).coalesce(1) if small else df), small


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
        sites = {"night": {"class_name": "SiteBuilder", "show_how_to_buttons": False, "store_backend": folder("")}}
    config = DataContextConfig(
        store_backend_defaults=defaults, data_docs_sites=sites, analytics_enabled=False, progress_bars={"globally": False}
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _ask(
    context: EphemeralDataContext, suite: str, rules: Iterable[Expectation], df: DataFrame, snapshot_id: str
) -> ExpectationSuiteValidationResult:
    """What GX says of a suite's rules on its table."""
    import great_expectations as gx
    from great_expectations.core.run_identifier import RunIdentifier

    # A source each: GX keeps the batch in hand in its source's engine, and suites are judged side by side.
    asset = context.data_sources.add_spark(suite, persist=False).add_dataframe_asset(suite)
    definition = gx.ValidationDefinition(
        name=suite,
        data=asset.add_batch_definition_whole_dataframe(snapshot_id),
        suite=context.suites.add_or_update(gx.ExpectationSuite(suite, expectations=list(rules))),
    )
    run = RunIdentifier(run_name=snapshot_id, run_time=datetime.now(UTC))
    return context.validation_definitions.add(definition).run(batch_parameters={"dataframe": df}, result_format="BASIC", run_id=run)


def _clusters_that_tell(spark: SparkSession, rules: Mapping[str, Sequence[Expectation]]) -> dict[str, set[str]]:
    """Of each query for the clusters that tell what a rule needs, the clusters."""
    queries = sorted({rule.meta["told"] for suite in rules.values() for rule in suite if rule.meta.get("told")})
    if not queries:
        return {}
    asked = " UNION ".join(f"SELECT {number} AS query, cluster_id FROM ({query})" for number, query in enumerate(queries))
    told: dict[str, set[str]] = {query: set() for query in queries}
    try:
        for row in spark.sql(asked).collect():
            told[queries[row.query]].add(row.cluster_id)
    except PySparkException as error:
        raise AuditError(f"what rules need cannot be asked for: {_first_line(str(error))}") from error
    return told


def _verdicts(
    snapshot_id: str, clusters: Sequence[str], suite: str, result: ExpectationSuiteValidationResult, told: Mapping[str, set[str]]
) -> Iterable[tuple[Any, ...]]:
    from expectations.rule import HARD

    for outcome in result.results:
        rule = outcome.expectation_config
        _raise_if_not_asked(f"{suite}.{rule.meta['rule']}", outcome.exception_info)
        broken = {row["cluster_id"]: row for row in outcome.result["details"]["clusters"]}
        if strangers := broken.keys() - set(clusters):
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
