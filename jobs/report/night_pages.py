"""The pages of a night: an overview of all clusters, and a page for each cluster."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectations.limits import limits_of_cluster
from jobs.lake.sql_literal import standard_literal
from jobs.names import folder_name
from jobs.report.absent import absent_cluster_report, absent_clusters, unread_file_report
from jobs.report.data_dictionary import descriptions
from jobs.report.page import sections, write_page
from jobs.report.rows import Row, by_cluster, rows
from jobs.report.survival import QUESTIONS, Survival, quorum, status, survivals
from jobs.report.tables import FINDINGS_WORST_FIRST, HARM_WORDS
from jobs.schema.failure import MUST_BE_ZERO
from jobs.schema.publication import CONSEQUENCES

if TYPE_CHECKING:
    from expectations.limits import Limits
    from jobs.views import DuckdbViews

_MAX_NIGHTS = 60  # nights of the trends
_MAX_PARTITIONS = 50  # partitions that a page shows for each failure
_MAX_DETAILED = 20  # failures with their partitions
_SHOWN_FAILURES = 10  # failures that the matrix shows at first
_MAX_CHANGES = 50
_SHOWN_CARDS = 12  # clusters that the overview shows at first; with more, it has a search for them
_FINDINGS = f"SELECT * FROM finding WHERE snapshot_id = {{{{night}}}}{{cluster}} ORDER BY {FINDINGS_WORST_FIRST}"
_FINDINGS_OF_CLUSTER = _FINDINGS.format(cluster=" AND cluster_id = {cluster}")


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of a query, and the query that a reader can repeat."""

    query: str
    rows: list[dict[str, Any]]


class _Night:
    """The published rows of one night."""

    def __init__(self, connection: DuckdbViews, snapshot_id: str) -> None:
        self.connection, self.snapshot_id = connection, snapshot_id

    def select(self, query: str, **values: str) -> Section:
        """Return the rows of a query, in which `{night}` and other names in braces are replaced by SQL literals."""
        text = self.text(query, **values)
        return Section(text, rows(self.connection, text))

    def text(self, query: str, **values: str) -> str:
        """Return the query of `select`."""
        literals = {name: standard_literal(value) for name, value in {"night": self.snapshot_id, **values}.items()}
        return " ".join(query.split()).format(**literals)  # a literal keeps its spaces


def write_night_pages(connection: DuckdbViews, snapshot_id: str, folder: Path, *, data_docs: str | None, limits: Limits) -> None:
    """Write index.html, clusters/<cluster>.html and dictionary.html into the folder.

    `data_docs` is the address of Great Expectations' pages, if they exist.
    """
    night = _Night(connection, snapshot_id)
    clusters = survivals(connection, snapshot_id)
    pages = {each.cluster_id: f"clusters/{folder_name(each.cluster_id)}.html" for each in clusters}
    findings = _findings(night)
    position = {each.cluster_id: number for number, each in enumerate(clusters)}
    findings.rows.sort(key=lambda row: (row["waived_until"] is not None, row["priority"], not row["is_new"], position[row["cluster_id"]]))
    shared: dict[str, object] = {
        "snapshot_id": snapshot_id,
        "consequences": CONSEQUENCES,
        "questions": QUESTIONS,
        "harm_words": HARM_WORDS,
        "quorum": quorum,
        "status": status,
        "neighbours": _neighbours(night, folder),
        "nights": _nights(night),
    }
    trends, changes = _trends(night), _changes(night)
    policy_of = by_cluster(night.select("SELECT * FROM policy WHERE snapshot_id = {night}").rows)
    findings_of, changes_of = by_cluster(findings.rows), by_cluster(changes.rows)
    for each in clusters:
        write_page(
            "cluster.html.j2",
            folder / pages[each.cluster_id],
            **shared,
            limits=limits_of_cluster(limits, policy_of[each.cluster_id]),
            root="../",
            cluster=each,
            answers=list(_answers(each)),
            findings=Section(night.text(_FINDINGS_OF_CLUSTER, cluster=each.cluster_id), list(map(dict, findings_of[each.cluster_id]))),
            trends=trends[each.cluster_id],
            changes=changes_of[each.cluster_id],
            survival_changes=_survival_changes(night, each.cluster_id),
            brokers=_brokers(night, each.cluster_id),
            **_failures(night, each.cluster_id),
        )
    write_page(
        "night.html.j2",
        folder / "index.html",
        **shared,
        root="",
        clusters=clusters,
        shown_cards=_SHOWN_CARDS,
        pages=pages,
        absent=absent_clusters(connection, snapshot_id),
        findings=findings,
        counts=_counts(findings.rows),
        trends=trends,
        changes=changes,
        data_docs=data_docs,
        notices=sections([*absent_cluster_report(connection, snapshot_id), *unread_file_report(connection, snapshot_id)]),
    )
    _write_dictionary(folder / "dictionary.html")


def _write_dictionary(page: Path) -> None:
    described = descriptions()
    kinds = {"Tables": "table", "Views": "view", "Rules": "rule"}
    write_page(
        "dictionary.html.j2", page, kinds={title: [each for each in described if each.kind.endswith(kind)] for title, kind in kinds.items()}
    )


def _findings(night: _Night) -> Section:
    section = night.select(_FINDINGS.format(cluster=""))
    broken = night.select(
        "SELECT cluster_id, cause, suite, rule, sentence, broken_rows, waived_rows FROM broken_since "
        "WHERE snapshot_id = {night} AND cause IS NOT NULL"
    )
    waivers = night.select(
        "SELECT cluster_id, suite, rule, topics, groups, reason, owner, expires FROM waiver "
        "WHERE snapshot_id = {night} AND snapshot_date <= expires ORDER BY cluster_id, entry"
    )
    in_force: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for waiver in waivers.rows:
        in_force[waiver["cluster_id"], waiver["suite"], waiver["rule"]].append(waiver)
    rules: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for rule in broken.rows:
        rule["waivers"] = in_force[rule["cluster_id"], rule["suite"], rule["rule"]]
        rules[rule["cluster_id"], rule["cause"]].append(rule)
    for row in section.rows:
        symptoms = rules[row["cluster_id"], row["cause"]]
        row["rules"] = sorted(symptoms, key=lambda rule: (rule["rule"] != row["rule"], rule["suite"], rule["rule"]))
        row["example"] = {
            name: value for name, value in json.loads(row["example"]).items() if name not in ("cluster_id", "smallest_change")
        }
    return section


def _counts(findings: Iterable[Row]) -> dict[str, int]:
    """Return the number of findings of each consequence that are not waived."""
    found = [row["consequence"] for row in findings if row["waived_until"] is None]
    return {consequence: found.count(consequence) for consequence in CONSEQUENCES}


def _answers(cluster: Survival) -> Iterable[dict[str, Any]]:
    """Yield for each kind of failure and each harm whether the cluster survives it, and the worst failure if it does not."""
    for kind, question in QUESTIONS.items():
        for harm, counts in MUST_BE_ZERO.items():
            failure = cluster.verdict[f"worst_{kind}_{harm}"]
            harmed = {name: cluster.verdict[f"{kind}_{harm}_{name}"] or 0 for name in counts}
            survives = None if cluster.answers[kind] is None and failure is None else failure is None
            yield {"kind": kind, "question": question, "harm": harm, "survives": survives, "failure": failure, "harmed": harmed}


def _failures(night: _Night, cluster_id: str) -> dict[str, object]:
    """Return the matrix of a cluster's failures and the partitions that the worst ones harm."""
    failures = night.select(
        """
        SELECT scenario_id, kind, brokers, newly_lost, newly_offline, newly_refusing_acks_all, moved_leaders, at_risk_size_bytes, at_risk_unknown,
               affected_groups, stranded_members, fullest_survivor, fullest_survivor_share, busiest_survivor, order_dependent_partitions
        FROM scenario WHERE snapshot_id = {night} AND cluster_id = {cluster} AND scenario_set = 'nightly' AND kind <> 'stop'
        ORDER BY newly_lost DESC, newly_offline DESC, newly_refusing_acks_all DESC, moved_leaders DESC, brokers, scenario_id
        """,
        cluster=cluster_id,
    )
    takeover = night.select(
        """
        SELECT scenario_id, broker_id, gained_leaders FROM takeover
        WHERE snapshot_id = {night} AND cluster_id = {cluster} AND scenario_set = 'nightly' AND gained_leaders > 0
        """,
        cluster=cluster_id,
    )
    gains: dict[str, dict[int, int]] = defaultdict(dict)
    for row in takeover.rows:
        gains[row["scenario_id"]][row["broker_id"]] = row["gained_leaders"]
    partitions = night.select(
        f"""
        SELECT e.scenario_id, e.topic, e.partition, h.trouble, e.sentence, r.remedy, r.added_replicas
        FROM (SELECT *, row_number() OVER (PARTITION BY scenario_id ORDER BY topic, partition) AS number FROM harmed_partition
              WHERE snapshot_id = {{night}} AND cluster_id = {{cluster}} AND scenario_set = 'nightly') h
        JOIN explanation e ON e.snapshot_id = h.snapshot_id AND e.cluster_id = h.cluster_id AND e.scenario_set = h.scenario_set
             AND e.scenario_id = h.scenario_id AND e.topic = h.topic AND e.partition = h.partition
        LEFT JOIN remedy r ON r.snapshot_id = e.snapshot_id AND r.cluster_id = e.cluster_id AND r.topic = e.topic AND r.partition = e.partition
        WHERE h.number <= {_MAX_PARTITIONS} AND e.snapshot_id = {{night}} AND e.cluster_id = {{cluster}} AND e.scenario_set = 'nightly'
        ORDER BY e.scenario_id, e.topic, e.partition
        """,
        cluster=cluster_id,
    )
    harmed = defaultdict(list)
    for row in partitions.rows:
        harmed[row["scenario_id"]].append(row)
    return {
        "failures": failures,
        "takeover": takeover.query,
        "gains": gains,
        "harmed": harmed,
        "harmed_query": partitions.query,
        "detailed": [row for row in failures.rows if harmed[row["scenario_id"]]][:_MAX_DETAILED],
        "shown_failures": _SHOWN_FAILURES,
        "max_partitions": _MAX_PARTITIONS,
    }


def _brokers(night: _Night, cluster_id: str) -> Section:
    return night.select(
        """
        SELECT broker_id, coalesce(rack, '') AS rack, live, replicas, leaders, size_bytes, produced_size_bytes, disk_used_share FROM broker_balance
        WHERE snapshot_id = {night} AND cluster_id = {cluster} ORDER BY rack = '', rack, broker_id
        """,
        cluster=cluster_id,
    )


def _survival_changes(night: _Night, cluster_id: str) -> Section:
    return night.select(
        f"""
        SELECT scenario_id, change, lost_change, offline_change, refusing_acks_all_change, cause FROM survival_change
        WHERE snapshot_id = {{night}} AND cluster_id = {{cluster}}
        ORDER BY change <> 'newly fatal', lost_change DESC, offline_change DESC, refusing_acks_all_change DESC, scenario_id LIMIT {_MAX_CHANGES}
        """,
        cluster=cluster_id,
    )


def _changes(night: _Night) -> Section:
    return night.select("""
        SELECT cluster_id, kind, changes, cause, example FROM change_summary WHERE snapshot_id = {night} AND kind NOT LIKE 'member %'
        ORDER BY cause IS NOT NULL, cluster_id, changes DESC, kind, cause
    """)


def _nights(night: _Night) -> list[str]:
    """Return the published nights up to this one, the oldest first, at most _MAX_NIGHTS."""
    query = f"SELECT DISTINCT snapshot_id FROM snapshot WHERE snapshot_id <= {{night}} ORDER BY 1 DESC LIMIT {_MAX_NIGHTS}"
    return sorted(row["snapshot_id"] for row in night.select(query).rows)


def _neighbours(night: _Night, folder: Path) -> dict[str, str]:
    """Return the previous and the next night that have a report beside this one, by these words."""
    nights = [row["snapshot_id"] for row in night.select("SELECT DISTINCT snapshot_id FROM snapshot ORDER BY 1").rows]
    before = [id for id in nights if id < night.snapshot_id][-1:]
    after = [id for id in nights if id > night.snapshot_id][:1]
    found = [("Previous night", *before)] * bool(before) + [("Next night", *after)] * bool(after)
    return {word: id for word, id in found if (folder.parent / id / "index.html").exists()}


def _trends(night: _Night) -> dict[str, dict[str, dict[str, Any]]]:
    """Return for each cluster and each published night the worst harm of one broker's death, the skews and the stored bytes."""
    section = night.select(f"""
        SELECT v.cluster_id, v.snapshot_id, v.any_broker_data, v.any_broker_reads, v.any_broker_writes, v.leader_skew, v.byte_skew,
               b.size_bytes, b.disk_used_share
        FROM verdict v
        LEFT JOIN (SELECT snapshot_id, cluster_id, sum(size_bytes) AS size_bytes, max(disk_used_share) AS disk_used_share
                   FROM broker_balance GROUP BY ALL) b ON b.snapshot_id = v.snapshot_id AND b.cluster_id = v.cluster_id
        WHERE v.snapshot_id IN (SELECT DISTINCT snapshot_id FROM snapshot WHERE snapshot_id <= {{night}} ORDER BY 1 DESC LIMIT {_MAX_NIGHTS})
    """)
    trends: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in section.rows:
        harms = {"loss": row["any_broker_data"], "offline": row["any_broker_reads"], "refused": row["any_broker_writes"]}
        worst = next((word for word, survives in harms.items() if survives is False), "unknown" if None in harms.values() else "safe")
        trends[row["cluster_id"]][row["snapshot_id"]] = {**row, "worst": worst}
    return trends
