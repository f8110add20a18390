"""What readers see: every table's published rows, and the views that answer. One SQL text for Spark and DuckDB.

A published view has its table's name and columns, and three more:

    latest          the row is of the cluster's newest published snapshot
    snapshot_age    nights in the lake that are newer than the row's, published or not: 0 is the newest
    stale           latest, but not of the newest night, which does not publish the cluster

`absent_cluster` and the views `all_...` have the rows of every night, published or not.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING

from jobs.errors import AuditError
from jobs.lake.sql_literal import standard_literal
from jobs.schema import ABSENT_CLUSTER, INPUT_FILE, PARAMETER, REJECTED_INPUT, SNAPSHOT, TABLES, VALIDATION, Table
from jobs.schema.failure import HARMED, HARMS, MUST_BE_ZERO, OFFLINE, ONE_BROKER_KILLED, SURVIVES
from jobs.views.read_only import check_duckdb, check_spark

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

    from jobs.lake.lake import Lake


# Tables that state why a night is not published: as `all_<name>`, readers see the rows of every night.
EVERY_NIGHT = (INPUT_FILE, REJECTED_INPUT, VALIDATION)


def _latest_and_others(query: str) -> str:
    """A query on the latest nights, the only ones that an engine reads if it is asked for these, and the same on all others.

    No engine carries `WHERE latest` over an outer join by itself.
    """
    return f"{query.format(of='latest', latest='true')} UNION ALL {query.format(of='NOT latest', latest='false')}"


def _columns(of: Iterable[str]) -> str:
    return ",\n               ".join(of)


def _survived() -> Iterator[tuple[str, str]]:
    """The columns of `verdict` on survival, and each as an aggregate of the rows that `survival` has of a cluster."""
    # A pair that shares no partition has no row: its brokers do what each does alone, so that any two includes the single broker.
    kinds = {"broker": "('broker')", "rolling_restart": "('stop')", "rack": "('rack')", "two": "('pair', 'broker')"}
    for (name, kind), (harm, counts) in product(kinds.items(), MUST_BE_ZERO.items()):
        of, worst = f"kind IN {kind} AND harm = '{harm}'", f"({' + '.join(counts)}, kind)"  # of equal ones, the pair
        yield f"{SURVIVES[name]}_{harm}", f"bool_and(survives) FILTER (WHERE {of})"
        yield f"worst_{name}_{harm}", f"max_by(worst_scenario, {worst}) FILTER (WHERE {of} AND NOT survives)"
        for count in counts:
            yield f"{name}_{harm}_{count}", f"max_by({count}, {worst}) FILTER (WHERE {of} AND NOT survives)"


_SURVIVED = dict(_survived())
_WORST_FIRST = "(-harmed, brokers, broker_id, other_broker_id, scenario_id)"  # broker 2 before broker 10

ANSWERS: dict[str, tuple[str, str]] = {
    "harm": (
        "what each nightly failure, and the loss of each pair of brokers that share a partition, does: how many partitions newly go offline, "
        "refuse acks=all, or lose data; `brokers` names those of a failure, `broker_id` and `other_broker_id` those of a pair",
        """
        SELECT snapshot_id, cluster_id, kind, scenario_id, brokers, CAST(NULL AS INT) AS broker_id, CAST(NULL AS INT) AS other_broker_id,
               newly_offline, newly_refusing_acks_all, newly_lost, latest
        FROM scenario WHERE scenario_set = 'nightly'
        UNION ALL
        SELECT snapshot_id, cluster_id, 'pair', concat('brokers ', broker_id, '+', other_broker_id), NULL, broker_id, other_broker_id,
               newly_offline, newly_refusing_acks_all, newly_lost, latest
        FROM broker_pair
        """,
    ),
    "harmed_partition": (
        "the partitions that lose their leader, or fall under min ISR, in a scenario",
        f"""
        SELECT snapshot_id, cluster_id, scenario_set, scenario_id, topic, partition,
               CASE WHEN {OFFLINE} THEN 'no leader' ELSE 'under min ISR' END AS trouble,
               live_replicas, min_insync_replicas, latest
        FROM failover
        WHERE {HARMED}
        """,
    ),
    "harmed_partition_cause": (
        "the partitions that a nightly failure harms and did not harm in the night before, each with what changed since",
        _latest_and_others("""
        SELECT f.snapshot_id, f.cluster_id, f.scenario_id, f.topic, f.partition, {latest} AS latest,
               coalesce(substr(min(concat(
                   CASE WHEN c.kind = 'partition added' THEN '1' WHEN c.kind LIKE 'replicas %' THEN '2' WHEN c.kind LIKE 'ISR %' THEN '3'
                        WHEN c.kind = 'config changed' THEN '4' WHEN c.kind LIKE 'leader %' THEN '5' ELSE '6' END,
                   c.kind, coalesce(' ' || c.name, ''), coalesce(': ' || c.cause, ''))), 2), 'brokers or configs changed') AS cause
        FROM harmed_partition f
        JOIN snapshot s ON s.snapshot_id = f.snapshot_id AND s.cluster_id = f.cluster_id AND s.previous_snapshot_id IS NOT NULL
        LEFT JOIN (SELECT * FROM harmed_partition WHERE snapshot_id IN (SELECT previous_snapshot_id FROM snapshot WHERE {of})) before
              ON before.snapshot_id = s.previous_snapshot_id AND before.cluster_id = f.cluster_id
              AND before.scenario_set = f.scenario_set AND before.scenario_id = f.scenario_id AND before.topic = f.topic AND before.partition = f.partition
        LEFT JOIN (SELECT * FROM change WHERE {of}) c ON c.snapshot_id = f.snapshot_id AND c.cluster_id = f.cluster_id AND c.topic = f.topic
              AND (c.partition = f.partition OR (c.kind = 'config changed' AND c.name = 'min.insync.replicas'))
        WHERE f.latest = {latest} AND f.scenario_set = 'nightly' AND before.topic IS NULL
        GROUP BY f.snapshot_id, f.cluster_id, f.scenario_id, f.topic, f.partition
        """),
    ),
    "change_summary": (
        "what changed since the night before, counted by kind and cause, with an example",
        """
        SELECT snapshot_id, previous_snapshot_id, cluster_id, kind, cause, count(*) AS changes,
               min(concat(coalesce('broker ' || broker_id, topic || coalesce('-' || partition, ''), group_id, ''), coalesce(' ' || name, ''),
                          CASE WHEN value_before IS NULL AND value_after IS NULL THEN ''
                               ELSE concat(': ', coalesce(value_before, 'none'), ' -> ', coalesce(value_after, 'none')) END)) AS example,
               latest
        FROM change
        GROUP BY snapshot_id, previous_snapshot_id, cluster_id, kind, cause, latest
        """,
    ),
    "survival": (
        "whether a cluster survives each kind of failure (any broker killed, any broker stopped in order, any rack lost, any pair of brokers "
        "that share a partition killed), for data, reads and writes; the failure that harms the most partitions and its own counts, null if "
        "all are survived. Of failures that harm equally many, the one with the lowest broker ids",
        f"""
        SELECT snapshot_id, cluster_id, kind, harm, latest, scenarios, harmed = 0 AS survives,
               {_columns(f"CASE WHEN harmed > 0 THEN {name} END AS {name}" for name in ("worst_scenario", *HARMS))}
        FROM (
            SELECT snapshot_id, cluster_id, kind, harm, latest, count(*) AS scenarios, max(harmed) AS harmed,
                   {_columns(f"min_by({name}, {_WORST_FIRST}) AS {as_}" for name, as_ in (("scenario_id", "worst_scenario"), *zip(HARMS, HARMS)))}
            FROM (
                SELECT failure.*, harms.harm,
                       CASE harms.harm {" ".join(f"WHEN '{harm}' THEN {' + '.join(counts)}" for harm, counts in MUST_BE_ZERO.items())} END AS harmed
                FROM harm AS failure CROSS JOIN ({" UNION ALL ".join(f"SELECT '{harm}' AS harm" for harm in MUST_BE_ZERO)}) AS harms
            ) AS each_harm
            GROUP BY snapshot_id, cluster_id, kind, harm, latest
        ) AS worst
        """,
    ),
    "survival_change": (
        "the nightly failures and pairs that are newly fatal, newly safe, worse or better than the night before, and what became of the "
        "partitions that make the difference. Worse: more partitions lose data; if as many, more go offline; if as many, more refuse acks=all",
        _latest_and_others("""
        SELECT n.snapshot_id, s.previous_snapshot_id, n.cluster_id, n.scenario_id, {latest} AS latest,
               CASE WHEN coalesce(o.newly_lost + o.newly_offline + o.newly_refusing_acks_all, 0) = 0 THEN 'newly fatal'
                    WHEN n.newly_lost + n.newly_offline + n.newly_refusing_acks_all = 0 THEN 'newly safe'
                    WHEN (n.newly_lost, n.newly_offline, n.newly_refusing_acks_all) > (o.newly_lost, o.newly_offline, o.newly_refusing_acks_all)
                    THEN 'worse' ELSE 'better' END AS change,
               n.newly_offline - coalesce(o.newly_offline, 0) AS offline_change,
               n.newly_refusing_acks_all - coalesce(o.newly_refusing_acks_all, 0) AS refusing_acks_all_change,
               n.newly_lost - coalesce(o.newly_lost, 0) AS lost_change,
               c.cause
        FROM harm n
        JOIN snapshot s ON s.snapshot_id = n.snapshot_id AND s.cluster_id = n.cluster_id AND s.previous_snapshot_id IS NOT NULL
        LEFT JOIN (SELECT * FROM harm WHERE snapshot_id IN (SELECT previous_snapshot_id FROM snapshot WHERE {of})) o
               ON o.snapshot_id = s.previous_snapshot_id AND o.cluster_id = n.cluster_id AND o.scenario_id = n.scenario_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, scenario_id, max(cause) AS cause FROM harmed_partition_cause WHERE {of}
                   GROUP BY snapshot_id, cluster_id, scenario_id) c
               ON c.snapshot_id = n.snapshot_id AND c.cluster_id = n.cluster_id AND c.scenario_id = n.scenario_id
        WHERE n.latest = {latest} AND (n.newly_lost <> coalesce(o.newly_lost, 0) OR n.newly_offline <> coalesce(o.newly_offline, 0)
              OR n.newly_refusing_acks_all <> coalesce(o.newly_refusing_acks_all, 0))
        """),
    ),
    "explanation": (
        "what a failure does to a partition, and why, in a sentence",
        """
        SELECT f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic, f.partition, f.latest,
               concat(f.topic, '-', f.partition, ' was ',
                      CASE WHEN f.leader_before IS NULL THEN 'without a leader' ELSE concat('led by ', f.leader_before) END,
                      ', ', f.safe_replicas_before, ' live replicas with every acknowledged record; ', f.scenario_id,
                      CASE WHEN f.live_replicas = 0 THEN ' takes its last replica'
                           WHEN f.safe_replicas = 0 AND f.safe_replicas_before > 0 THEN ' takes the last of them'
                           ELSE concat(' leaves ', f.safe_replicas, ' of them') END, ': ',
                      CASE WHEN f.leader IS NULL AND s.quorum_lost THEN 'no quorum of controllers is left to elect a leader, it is offline'
                           WHEN f.leader IS NULL THEN 'no election finds a leader, it is offline'
                           WHEN f.unclean THEN concat(f.leader, ' is elected uncleanly, records are lost')
                           WHEN f.leader = f.leader_before THEN concat(f.leader, ' goes on leading')
                           ELSE concat(f.leader, ' is elected (', f.election, ')') END,
                      CASE WHEN f.leader IS NULL THEN ''
                           WHEN f.under_min_isr AND s.quorum_lost THEN ', acks=all is refused: no quorum is left to take the dead out of its ISR'
                           WHEN f.under_min_isr THEN concat(', acks=all is refused: min.insync.replicas is ', f.min_insync_replicas)
                           WHEN f.at_min_isr THEN ', at min ISR'
                           ELSE ', acks=all is accepted' END,
                      CASE WHEN f.at_risk_size_bytes > 0 THEN concat('; ', f.at_risk_size_bytes, ' bytes are on the lost leader alone') ELSE '' END) AS sentence
        FROM failover f
        JOIN scenario s ON s.snapshot_id = f.snapshot_id AND s.cluster_id = f.cluster_id AND s.scenario_set = f.scenario_set AND s.scenario_id = f.scenario_id
        """,
    ),
    "takeover": (
        "what each survivor takes over in each scenario, beside what it leads now",
        """
        SELECT l.snapshot_id, l.cluster_id, l.scenario_set, l.scenario_id, l.broker_id, l.leaders_before, l.gained_leaders,
               l.leaders_before + l.gained_leaders AS leaders_after, l.gained_records, l.gained_size_bytes, l.gained_share,
               l.gained_size_bytes_per_s, l.network_out_bytes_per_s, l.network_out_share, l.latest
        FROM failover_load l
        """,
    ),
    "redirection": (
        "the sampled records without a key that the leaderless partitions of a topic got, and the partitions that share them then: none, if no leader is left",
        _latest_and_others("""
        SELECT f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic, {latest} AS latest,
               sum(p.unkeyed_records) AS unkeyed_records, max(t.partitions) - count(*) AS led_partitions,
               CASE WHEN max(t.partitions) > count(*) THEN CAST(sum(p.unkeyed_records) AS DOUBLE) / (max(t.partitions) - count(*)) END AS records_each
        FROM failover f
        JOIN (SELECT * FROM producer_load WHERE {of}) p ON p.snapshot_id = f.snapshot_id AND p.cluster_id = f.cluster_id AND p.topic = f.topic AND p.partition = f.partition
        JOIN (SELECT * FROM topic WHERE {of}) t ON t.snapshot_id = f.snapshot_id AND t.cluster_id = f.cluster_id AND t.topic = f.topic
        WHERE f.latest = {latest} AND f.leader IS NULL AND p.unkeyed_records IS NOT NULL
        GROUP BY f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic
        """),
    ),
    "broken_rule": (
        "the rules that a published cluster breaks, and those that could not be judged",
        """
        SELECT snapshot_id, cluster_id, suite, rule, severity,
               CASE WHEN success IS NULL THEN 'unknown' ELSE 'broken' END AS result, broken_rows, example, sentence, latest
        FROM validation WHERE success IS NULL OR NOT success
        """,
    ),
    "scatter_width": (
        "how many other live brokers share a partition with a broker: those that its death loads, and that lose data with it",
        """
        SELECT snapshot_id, cluster_id, broker_id, count(*) AS scatter_width, sum(shared_partitions) AS shared_partitions, latest
        FROM (
            SELECT snapshot_id, cluster_id, broker_id, shared_partitions, latest FROM broker_pair
            UNION ALL SELECT snapshot_id, cluster_id, other_broker_id, shared_partitions, latest FROM broker_pair
        ) AS pairs
        GROUP BY snapshot_id, cluster_id, broker_id, latest
        """,
    ),
    "consumer_load": (
        "what each member of a group was seen to hold, idle ones too: partitions, and what producers sent to these (sampled; grown since the night before); members of a share group may share them",
        _latest_and_others("""
        SELECT m.snapshot_id, m.cluster_id, m.group_id, m.member_id, m.client_id, m.host, count(a.topic) AS partitions,
               sum(l.records) AS records, sum(l.size_bytes) AS size_bytes, sum(l.observed_records) AS observed_records,
               sum(l.observed_size_bytes) AS observed_size_bytes, {latest} AS latest
        FROM group_member m
        LEFT JOIN (SELECT * FROM observed_assignment WHERE {of}) a ON a.snapshot_id = m.snapshot_id AND a.cluster_id = m.cluster_id AND a.group_id = m.group_id
              AND a.member_id = m.member_id
        LEFT JOIN (SELECT * FROM producer_load WHERE {of}) l ON l.snapshot_id = m.snapshot_id AND l.cluster_id = m.cluster_id AND l.topic = a.topic AND l.partition = a.partition
        WHERE m.latest = {latest}
        GROUP BY m.snapshot_id, m.cluster_id, m.group_id, m.member_id, m.client_id, m.host
        """),
    ),
    "broken_since": (
        "the rules that a cluster breaks in a night, since which night, and in how many; a night in which a rule is unknown does not mend it",
        """
        SELECT snapshot_id, cluster_id, suite, rule, severity, since_snapshot_id, nights, broken_rows, example, sentence, latest
        FROM (
            SELECT told.*,
                   min(CASE WHEN NOT success THEN snapshot_id END) OVER (PARTITION BY cluster_id, suite, rule, last_kept) AS since_snapshot_id,
                   sum(CASE WHEN NOT success THEN 1 ELSE 0 END)
                   OVER (PARTITION BY cluster_id, suite, rule, last_kept ORDER BY snapshot_id ROWS UNBOUNDED PRECEDING) AS nights
            FROM (
                SELECT v.*, coalesce(max(CASE WHEN success THEN snapshot_id END)
                           OVER (PARTITION BY cluster_id, suite, rule ORDER BY snapshot_id ROWS UNBOUNDED PRECEDING), '') AS last_kept
                FROM validation v
            ) AS told
        ) AS counted
        WHERE NOT success
        """,
    ),
    "verdict": (
        "a line per cluster: for data, reads and writes, whether it survives any broker, a rolling restart, any rack and any two brokers, each "
        "with the worst failure and that failure's own counts (null if all are survived); whether the controller quorum survives any broker "
        "(null: ZooKeeper, or unknown voters); how even it is, how many rules it breaks. Any two brokers: pairs that share a partition, and "
        "single brokers, whichever harms more",
        _latest_and_others(
            """
        SELECT s.snapshot_id, s.cluster_id, {latest} AS latest,
               b.live_brokers, b.brokers,
               """
            + _columns(f"f.{name}" for name in _SURVIVED)
            + """,
               q.quorum_survives_any_broker, r.restartable,
               b.leader_skew, b.byte_skew, p.producer_skew, g.consumer_spread,
               h.leaderless AS leaderless_now, h.under_min_isr AS under_min_isr_now,
               v.broken_rules, v.unknown_rules
        FROM snapshot s
        LEFT JOIN (SELECT snapshot_id, cluster_id, count(*) AS brokers, max(live_brokers) AS live_brokers,
                          max(leader_ratio) AS leader_skew, max(byte_ratio) AS byte_skew
                   FROM broker_balance WHERE {of} GROUP BY snapshot_id, cluster_id) b
               ON b.snapshot_id = s.snapshot_id AND b.cluster_id = s.cluster_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, sum(CASE WHEN live AND restart_order IS NULL THEN 1 ELSE 0 END) = 0 AS restartable
                   FROM broker_restart WHERE {of} GROUP BY snapshot_id, cluster_id) r
               ON r.snapshot_id = s.snapshot_id AND r.cluster_id = s.cluster_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, """
            + _columns(f"{column} AS {name}" for name, column in _SURVIVED.items())
            + """
                   FROM survival WHERE {of} GROUP BY snapshot_id, cluster_id) f
               ON f.snapshot_id = s.snapshot_id AND f.cluster_id = s.cluster_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, bool_and(NOT quorum_lost) AS quorum_survives_any_broker
                   FROM scenario WHERE {of} AND """
            + ONE_BROKER_KILLED
            + """ GROUP BY snapshot_id, cluster_id) q
               ON q.snapshot_id = s.snapshot_id AND q.cluster_id = s.cluster_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, max(skew) AS producer_skew FROM topic_load WHERE {of} GROUP BY snapshot_id, cluster_id) p
               ON p.snapshot_id = s.snapshot_id AND p.cluster_id = s.cluster_id
        LEFT JOIN (SELECT a.snapshot_id, a.cluster_id, max(a.spread) AS consumer_spread
                   FROM group_assignment a
                   WHERE {of} AND a.members_change = 0 AND a.observed_differences IS NOT NULL GROUP BY a.snapshot_id, a.cluster_id) g
               ON g.snapshot_id = s.snapshot_id AND g.cluster_id = s.cluster_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, sum(CASE WHEN leaderless THEN 1 ELSE 0 END) AS leaderless,
                          sum(CASE WHEN under_min_isr THEN 1 ELSE 0 END) AS under_min_isr
                   FROM partition_health WHERE {of} GROUP BY snapshot_id, cluster_id) h
               ON h.snapshot_id = s.snapshot_id AND h.cluster_id = s.cluster_id
        LEFT JOIN (SELECT snapshot_id, cluster_id, sum(CASE WHEN NOT success THEN 1 ELSE 0 END) AS broken_rules,
                          sum(CASE WHEN success IS NULL THEN 1 ELSE 0 END) AS unknown_rules
                   FROM validation WHERE {of} GROUP BY snapshot_id, cluster_id) v
               ON v.snapshot_id = s.snapshot_id AND v.cluster_id = s.cluster_id
        WHERE s.latest = {latest}
        """
        ),
    ),
}


def statements(raw: Callable[[Table], str]) -> dict[str, str]:
    """The SELECT of every view, in an order in which they can be created, where `raw` names a table in the engine's own way."""
    same = "s.snapshot_id = t.snapshot_id AND s.cluster_id = t.cluster_id"
    views = {SNAPSHOT.name: _snapshot(raw(SNAPSHOT), raw(ABSENT_CLUSTER)), ABSENT_CLUSTER.name: f"SELECT * FROM {raw(ABSENT_CLUSTER)}"}
    for table in TABLES:
        if table is PARAMETER:
            views[table.name] = f"SELECT * FROM {raw(table)} WHERE snapshot_id IN (SELECT snapshot_id FROM {SNAPSHOT.name})"
        elif table.name not in views:
            views[table.name] = f"SELECT t.*, s.latest, s.snapshot_age, s.stale FROM {raw(table)} t JOIN {SNAPSHOT.name} s ON {same}"
    answers = {
        name: f"SELECT t.*, s.snapshot_age, s.stale FROM ({query}) t JOIN {SNAPSHOT.name} s ON {same}"
        for name, (_, query) in ANSWERS.items()
    }
    return views | answers | {f"all_{table.name}": f"SELECT * FROM {raw(table)}" for table in EVERY_NIGHT}


def _snapshot(snapshot: str, absent_cluster: str) -> str:
    """The published snapshots with their age. A night that published nothing counts too: it has rows of `absent_cluster`."""
    return f"""
        SELECT t.*, n.snapshot_age, t.latest AND n.snapshot_age > 0 AS stale
        FROM (SELECT *, snapshot_id = max(snapshot_id) OVER (PARTITION BY cluster_id) AS latest FROM {snapshot}) t
        JOIN (SELECT snapshot_id, CAST(row_number() OVER (ORDER BY snapshot_id DESC) - 1 AS INT) AS snapshot_age
              FROM (SELECT snapshot_id FROM {snapshot} UNION SELECT snapshot_id FROM {absent_cluster}) AS nights) n
        ON n.snapshot_id = t.snapshot_id
    """


def script(lake: Lake, engine: str) -> str:
    """A script that makes the views in any session of the engine: spark-sql with Delta, or DuckDB with its delta extension."""
    if engine == "spark":
        return "".join(f"{statement};\n" for statement in _in_spark(lake))
    views = statements(lambda table: f"delta_scan({standard_literal(lake.path(table))})")
    return "".join(f'CREATE OR REPLACE VIEW "{name}" AS {query.strip()};\n' for name, query in views.items())


def ask_spark(lake: Lake, sql: str, rows: int) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and first rows of a read-only query on the views, by Spark."""
    from pyspark.errors import PySparkException

    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark's own, which prints the trace of a query that cannot be answered
    spark, sql = lake.spark(), sql.strip().removesuffix(";")
    views = statements(lambda table: f"`_{table.name}`")
    try:
        with _locked(spark):
            check_spark(spark, sql, views)
            _create_in_spark(lake, sql, views)
            found = spark.sql(sql)
            columns = found.limit(rows).toArrow().columns
        return found.columns, list(zip(*(column.to_pylist() for column in columns), strict=True))
    except PySparkException as error:
        raise AuditError(f"Spark cannot answer it: {str(error).strip().splitlines()[0]}") from None


@contextmanager
def _locked(spark: SparkSession) -> Iterator[None]:
    """Meanwhile a path is no table, and ${env:HOME} in a query is text."""
    settings = ("spark.sql.runSQLOnFiles", "spark.sql.variable.substitute")
    before = {setting: spark.conf.get(setting) for setting in settings}
    for setting in settings:
        spark.conf.set(setting, "false")
    try:
        yield
    finally:
        for setting, value in before.items():
            spark.conf.set(setting, value)


def _create_in_spark(lake: Lake, sql: str, views: Mapping[str, str]) -> None:
    """Create the views that a query may read: those whose names are words of it, and what these read."""
    queries, wanted, texts = {f"_{table.name}": table for table in TABLES} | dict(views), set(), [sql]
    while texts:
        named = {word.lower() for word in re.findall(r"\w+", texts.pop())} & queries.keys() - wanted
        wanted |= named
        texts += [views[name] for name in named & views.keys()]
    for name, query in queries.items():  # what a view reads comes before it
        if name in wanted and isinstance(query, Table):
            lake.read(query).createOrReplaceTempView(name)
        elif name in wanted:
            lake.spark().sql(f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS {query.strip()}")


def ask_duckdb(lake: Lake, sql: str, rows: int) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and first rows of a read-only query on the views, by DuckDB."""
    import duckdb

    check_duckdb(sql, statements(lambda table: table.name))
    try:
        found = DuckdbViews(lake).execute(sql)
        return [column[0] for column in found.description or ()], found.fetchmany(rows)
    except duckdb.Error as error:
        raise AuditError(f"DuckDB cannot answer it: {' '.join(str(error).split())}") from None


class DuckdbViews:
    """The views in DuckDB, over the files that delta-rs tells of the Delta tables: no Spark, no Java.

    Each opens when a query first names it, since that costs a reading of a table's log. A query that names none may ask for their names,
    and finds all.
    """

    def __init__(self, lake: Lake) -> None:
        import duckdb

        self._lake = lake
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self._lock()
        self._without = self._connection.cursor()  # to which the views, temporary ones, are not there: it tells their names of a query
        self._all = {f"_{table.name}": table for table in TABLES} | statements(lambda table: f'"_{table.name}"')
        self._open: set[str] = set()

    def _lock(self) -> None:
        """Read no file but the lake's, whatever the query: no other folder, no network, no variable of this process."""
        for setting in (
            *([f"allowed_directories = [{standard_literal(str(self._lake.folder))}]"] if self._lake.folder else ()),
            "enable_external_access = false",
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "python_enable_replacements = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"SET {setting}")

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        """A query's answer, to be fetched before the next one is asked."""
        for name in self._read_by(sql) or self._all:
            self._make(name)
        return self._connection.execute(sql, parameters)

    def _make(self, name: str) -> None:
        if name in self._open:
            return
        self._open.add(name)
        made = self._all[name]
        if isinstance(made, Table):
            if (query := self._lake.scan(made)) is None:
                self._connection.register(name, self._lake.dataset(made))
            else:
                self._connection.execute(f'CREATE TEMPORARY VIEW "{name}" AS {query}')
            return
        for other in self._read_by(made):
            self._make(other)
        # Each view asks which night is the latest: once is enough.
        self._connection.execute(f'CREATE TEMPORARY {"TABLE" if name == SNAPSHOT.name else "VIEW"} "{name}" AS {made}')

    def _read_by(self, sql: str) -> set[str]:
        """The tables and views that a query reads; where DuckDB cannot tell, all words of it that name one."""
        import duckdb

        try:
            names = {name.lower() for name in self._without.get_table_names(sql)}
        except duckdb.Error:
            names = {word.lower() for word in re.findall(r"\w+", sql)}
        return names & self._all.keys()


def _in_spark(lake: Lake) -> list[str]:
    views = statements(lambda table: f"delta.`{lake.path(table).replace('`', '``')}`")
    return [f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS {query.strip()}" for name, query in views.items()]
