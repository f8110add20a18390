"""What each cluster survives, in words: the worst failure, what is new about it, and what repairs it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from jobs.lake.sql_literal import standard_literal
from jobs.report.rows import Row, by_cluster, rows
from jobs.report.tables import HARM_WORDS
from jobs.schema.failure import MUST_BE_ZERO, SURVIVES

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

# The failures of the table `verdict`, in the order in which a report names them, each as a question and as a prefix of the columns.
QUESTIONS = {"broker": "any broker", "rolling_restart": "a rolling restart", "rack": "any rack", "two": "any two brokers"}
_MAX_TOPICS = 2  # topics that a sentence names


@dataclass(frozen=True, slots=True)
class Survival:
    """What one cluster survives.

    `answers` maps each question to True, False or, if the input is missing, None. `harms` counts the partitions that the worst failure
    harms, by the columns of HARM_WORDS. `command` is None if no command of this project repairs it.
    """

    cluster_id: str
    verdict: Row
    answers: dict[str, bool | None]
    failure: str | None
    harms: dict[str, int]
    sentence: str
    news: str | None
    fix: str | None
    command: str | None

    @property
    def severity(self) -> tuple[int, ...]:
        """Return a sort key: the cluster that is worst off first."""
        failed = [number for number, answer in enumerate(self.answers.values()) if answer is False]
        return (failed[0] if failed else len(self.answers), *(-count for count in reversed(self.harms.values())))


def survivals(connection: DuckdbViews, snapshot_id: str) -> list[Survival]:
    """Return what each published cluster of a night survives, the worst first."""
    verdicts = rows(
        connection,
        "SELECT v.*, c.controller, s.published_at, s.previous_snapshot_id FROM verdict v "
        "JOIN snapshot s ON s.snapshot_id = v.snapshot_id AND s.cluster_id = v.cluster_id "
        "LEFT JOIN cluster c ON c.snapshot_id = v.snapshot_id AND c.cluster_id = v.cluster_id WHERE v.snapshot_id = ?",
        [snapshot_id],
    )
    worst = {verdict["cluster_id"]: failure for verdict in verdicts if (failure := _worst_failure(verdict))}
    facts = _Facts(connection, snapshot_id, worst)
    return sorted((facts.survival(verdict) for verdict in verdicts), key=lambda each: (*each.severity, each.cluster_id))


def _answer(verdict: Row, kind: str) -> bool | None:
    answers = [verdict[f"{SURVIVES[kind]}_{harm}"] for harm in MUST_BE_ZERO]
    return False if False in answers else None if None in answers else True


def _worst_failure(verdict: Row) -> tuple[str, str] | None:
    """Return the kind and the id of a cluster's worst failure: of the first kind and harm that it does not survive."""
    for kind in QUESTIONS:
        for harm in MUST_BE_ZERO:
            if failure := verdict[f"worst_{kind}_{harm}"]:
                return kind, failure
    return None


class _Facts:
    """The rows of a night about the worst failure of each cluster."""

    def __init__(self, connection: DuckdbViews, snapshot_id: str, worst: dict[str, tuple[str, str]]) -> None:
        self.worst = worst
        parameters = [snapshot_id, *chain.from_iterable((cluster, failure) for cluster, (_, failure) in worst.items())]
        of_worst = f"snapshot_id = ? AND (cluster_id, scenario_id) IN ({', '.join('(?, ?)' for _ in worst) or 'SELECT NULL, NULL'})"
        self.harms = by_cluster(rows(connection, f"SELECT cluster_id, {', '.join(HARM_WORDS)} FROM harm WHERE {of_worst}", parameters))
        self.changes = by_cluster(
            rows(connection, f"SELECT cluster_id, change, cause, previous_snapshot_id FROM survival_change WHERE {of_worst}", parameters)
        )
        self.topics = by_cluster(
            rows(
                connection,
                f"SELECT cluster_id, topic FROM harmed_partition WHERE scenario_set = 'nightly' AND {of_worst} "
                "GROUP BY ALL ORDER BY count(*) DESC, topic",
                parameters,
            )
        )
        self.remedies = by_cluster(
            rows(
                connection,
                "SELECT cluster_id, remedy, count(*) AS partitions, min(topic) AS topic, "
                "min_by(len(replicas), topic) AS replication_factor FROM remedy WHERE snapshot_id = ? "
                "GROUP BY ALL ORDER BY partitions DESC, remedy",
                [snapshot_id],
            )
        )
        self.dead = by_cluster(
            rows(
                connection,
                "SELECT cluster_id, broker_id FROM broker WHERE snapshot_id = ? AND NOT live ORDER BY broker_id",
                [snapshot_id],
            )
        )

    def survival(self, verdict: Row) -> Survival:
        cluster_id = verdict["cluster_id"]
        answers = {kind: _answer(verdict, kind) for kind in QUESTIONS}
        kind, failure = self.worst.get(cluster_id, (None, None))
        harms = {name: next((row[name] for row in self.harms[cluster_id]), 0) for name in HARM_WORDS}
        fix, command = self._fix(cluster_id, answers)
        sentence = _harm_sentence(kind, failure, harms, self._topics(cluster_id)) if kind and failure else _safe_sentence(answers)
        return Survival(cluster_id, verdict, answers, failure, harms, sentence, self._news(cluster_id), fix, command)

    def _topics(self, cluster_id: str) -> str:
        topics = [row["topic"] for row in self.topics[cluster_id]]
        others = len(topics) - _MAX_TOPICS
        named = topics[:_MAX_TOPICS] + ([f"{others} more topic{'s' * (others > 1)}"] if others > 0 else [])
        return f": {enumeration(named)}" if named else ""

    def _news(self, cluster_id: str) -> str | None:
        for change in self.changes[cluster_id]:
            words = {"newly fatal": "New since", "worse": "Worse than in", "better": "Better than in"}.get(change["change"])
            if words:
                return f"{words} {change['previous_snapshot_id']}" + (f": {change['cause']}." if change["cause"] else ".")
        return None

    def _fix(self, cluster_id: str, answers: dict[str, bool | None]) -> tuple[str | None, str | None]:
        """Return the smallest repair for the most partitions that one broker's death harms, and the command that continues with it."""
        plan = f"topology-audit plan --cluster {shlex.quote(cluster_id)}"
        remedy = next((row for row in self.remedies[cluster_id] if row["remedy"]), None)
        dead = ", ".join(str(row["broker_id"]) for row in self.dead[cluster_id])
        if remedy is None:
            return ("Plan a reassignment.", plan) if False in answers.values() else (None, None)
        what = f"Bring broker {dead} back" if "dead brokers" in remedy["remedy"] else _capitalized(remedy["remedy"])
        number = remedy["partitions"]
        fix = f"{what}: {number:,} partition{'s' * (number > 1)} then survive{'s' * (number == 1)} the loss of any one broker."
        if dead:
            return f"{fix} If it is gone for good, plan its replacement.", plan
        if remedy["remedy"].startswith("add"):
            return fix, f"{plan} --replication-factor {shlex.quote(remedy['topic'])}={remedy['replication_factor']}"
        query = f"SELECT * FROM remedy WHERE latest AND cluster_id = {standard_literal(cluster_id)}"
        return fix, f"topology-audit query {shlex.quote(query)}"


def _harm_sentence(kind: str, failure: str, harms: dict[str, int], topics: str) -> str:
    name = failure.partition(" ")[2]
    when = {
        "broker": f"If broker {name} dies",
        "rolling_restart": f"While broker {name} restarts",
        "rack": f"If rack {name} is lost",
        "two": f"If {failure.replace('+', ' and ')} die" if failure.startswith("brokers") else f"If {failure} dies",
    }[kind]
    return f"{when}, {harm_words(harms)}{topics}."


def harm_words(harms: dict[str, int]) -> str:
    """Return counts of harmed partitions in words, the worst harm first: `9 partitions lose data and 37 refuse acks=all`."""
    verbs = {"newly_lost": ("lose data", "loses data"), "newly_offline": ("go offline", "goes offline"),
             "newly_refusing_acks_all": ("refuse acks=all", "refuses acks=all")}  # fmt: skip
    counted = [(harms[name], verbs[name]) for name in verbs if harms[name]]
    nouns = [(" partition" if count == 1 else " partitions") if first else "" for first, (count, _) in zip([True, *[False] * 2], counted)]
    parts = [f"{count:,}{noun} {verb[count == 1]}" for noun, (count, verb) in zip(nouns, counted)]
    return enumeration(parts) or "no partition is harmed"


def _safe_sentence(answers: dict[str, bool | None]) -> str:
    survived = [QUESTIONS[kind] for kind, answer in answers.items() if answer]
    unknown = [QUESTIONS[kind] for kind, answer in answers.items() if answer is None]
    known = f"Every partition survives {enumeration(survived)}." if survived else ""
    return " ".join(filter(None, [known, f"Unknown, because the dumps lack the input: {enumeration(unknown)}." if unknown else ""]))


def enumeration(words: Sequence[str]) -> str:
    """Return words as one phrase: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def quorum(survival: Survival) -> str | None:
    """Return the state of the controllers' quorum if one broker's death may break it or it is unknown; otherwise None."""
    if survival.verdict["controller"] != "kraft" or (survives := survival.verdict["quorum_survives_any_broker"]):
        return None
    return "Quorum unknown" if survives is None else "Quorum at risk: one more death leaves no majority of controllers"


def status(survival: Survival) -> str:
    """Return how a cluster is off as a CSS class: loss, offline, refused, fragile (only two deaths harm it), safe or unknown."""
    if survival.answers["two"] is False and False not in [survival.answers[kind] for kind in QUESTIONS if kind != "two"]:
        return "fragile"
    for name, word in (("newly_lost", "loss"), ("newly_offline", "offline"), ("newly_refusing_acks_all", "refused")):
        if survival.harms[name]:
            return word
    return "unknown" if None in survival.answers.values() else "safe"
