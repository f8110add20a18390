"""The messages about a night, as a webhook on this machine gets them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from expectations.limits import limits
from jobs.lake.folder_lake import FolderLake
from jobs.lake.lake import Lake
from jobs.schema import NOTIFICATION, OWNER, SCENARIO, VALIDATION, Table
from tests.jobs.command import Command
from tests.jobs.empty_lake import empty_lake
from tests.jobs.lake.test_publish import FIRST, SECOND, THIRD, night, query, validation_rows
from tests.jobs.notify.recorder import Webhook, recording_webhook
from tests.jobs.two_nights import SECOND as REAL_NIGHT

ONE_BROKER = "one broker is fatal"  # the cause of a finding
SECRETS = ("sesame", "token-in-the-path")


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with recording_webhook() as webhook:
        yield webhook


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake. No test but the last one needs Spark."""
    return empty_lake(tmp_path / "lake")


def row(table: Table, **values: Any) -> dict[str, Any]:
    """Return a row with these values, and 0, false or nothing in the other columns that are NOT NULL."""
    empty = {"bool": False, "string": "", "list<item: int32>": [], "list<item: string>": []}
    required = {field.name: empty.get(str(field.type), 0) for field in table.schema if not field.nullable}
    return required | values


def publish(
    lake: Lake,
    snapshot_id: str,
    findings: dict[str, list[str]],
    *,
    fatal: dict[str, int] | None = None,
    owners: dict[str, str] | None = None,
    contacts: dict[str, str | None] | None = None,
    waived: tuple[str, ...] = (),
    **more: Any,
) -> None:
    """Publish a night.

    `findings` are the problems of each cluster; those in `waived` are waived. `owners` are the names of a problem's owners, `contacts` those
    of the owners. The death of broker 1 takes the `fatal` number of partitions offline.
    """
    run = night(lake, snapshot_id, *findings, **more)
    scenarios = [
        row(SCENARIO, snapshot_id=snapshot_id, cluster_id=id, scenario_set="nightly", scenario_id="broker 1", kind="broker", brokers=[1])
        | {"newly_offline": (fatal or {}).get(id, 0)}
        for id in findings
    ]
    run.replace(SCENARIO, pa.Table.from_pylist(scenarios, SCENARIO.schema))
    hard = [each for id in findings for each in validation_rows(id)]
    soft = {"severity": "soft", "suite": "topic", "gate": "ingest", "sentence": "It must hold.", "consequence": "hygiene"}
    soft = [
        {
            "cluster_id": id,
            **soft,
            "rule": problem.replace(" ", "_"),
            "cause": problem,
            "success": problem not in problems or problem in waived,
        }
        | {"broken_rows": int(problem in problems and problem not in waived), "problem": f"2 topics whose {problem}"}
        | {"waived_rows": int(problem in waived), "waived_until": date(2026, 3, 1) if problem in problems and problem in waived else None}
        | {"owner": (owners or {}).get(problem), "smallest_change": "rename"}
        for id, problems in findings.items()
        for problem in (ONE_BROKER, "configs are missing", "names collide")
    ]
    run.replace(VALIDATION, pa.Table.from_pylist([{"snapshot_id": snapshot_id, **each} for each in (*hard, *soft)], VALIDATION.schema))
    entries = [
        row(OWNER, snapshot_id=snapshot_id, cluster_id=id, entry=entry, owner=name, contact=contact)
        for id in findings
        for entry, (name, contact) in enumerate((contacts or {}).items(), start=1)
    ]
    run.replace(OWNER, pa.Table.from_pylist(entries, OWNER.schema))
    run.publish(limits())


def notify(command: Command, lake: Lake, snapshot_id: str, *urls: str) -> tuple[int, str]:
    """Run `topology-audit notify`; return its exit code and what it prints."""
    to = [word for url in urls for word in ("--to", url)]
    result = command.run("notify", "--lake", lake.uri, "--snapshot", snapshot_id, *to)
    assert [secret for secret in SECRETS if secret in result.stdout + result.stderr] == []
    return result.returncode, result.stdout + result.stderr


def test_a_message_reports_what_changed_in_each_cluster(lake: Lake, webhook: Webhook, command: Command) -> None:
    publish(lake, FIRST, {"east": ["names collide"], "west": [], "north": []}, fatal={"east": 3})
    publish(lake, SECOND, {"east": [], "west": ["configs are missing"]}, fatal={"west": 9})
    code, printed = notify(command, lake, SECOND, webhook.url())
    assert (code, printed) == (0, "Sent to URL 1 of --to (JSON)\n")
    assert webhook.titles() == [
        "Kafka topology audit 2026-01-02: 3 clusters: 1 newly fatal, 1 newly safe, 1 with new findings, 1 with repaired findings, 1 newly absent"
    ]
    assert webhook.bodies()[0].splitlines() == [
        "north is newly absent: no folder: the source has no folder of this name",
        "west is newly fatal: any broker (reads, writes)",
        "  If broker 1 dies, 9 partitions go offline. New since 2026-01-01. Plan a reassignment.",
        "west: new finding, hygiene: 2 topics whose configs are missing. Smallest change: rename",
        "east is newly safe: any broker (reads, writes)",
        "east: repaired finding, hygiene: 2 topics whose names collide",
    ]


def test_a_night_without_a_change_sends_nothing(lake: Lake, webhook: Webhook, command: Command) -> None:
    unreadable = {"unreadable": ("south",)}
    publish(lake, FIRST, {"east": ["names collide"]}, fatal={"east": 3}, **unreadable)
    publish(lake, SECOND, {"east": ["names collide"]}, fatal={"east": 4}, **unreadable)
    for snapshot_id in (FIRST, SECOND):  # the first night has no night before it, but an absent cluster
        code, printed = notify(command, lake, snapshot_id, webhook.url())
        assert code == 0
    assert printed == "Nothing changed in night 2026-01-02: no message.\n"
    assert webhook.titles() == ["Kafka topology audit 2026-01-01: 2 clusters: 1 newly absent"]


def test_a_cluster_that_is_published_again_is_reported(lake: Lake, webhook: Webhook, command: Command) -> None:
    publish(lake, FIRST, {"east": [], "west": []})
    publish(lake, SECOND, {"east": []})
    publish(lake, THIRD, {"east": [], "west": []})
    assert notify(command, lake, THIRD, webhook.url())[0] == 0
    assert webhook.bodies() == ["west is published again"]


def test_a_rerun_sends_no_message_twice_and_a_corrected_one_once(lake: Lake, webhook: Webhook, command: Command) -> None:
    publish(lake, FIRST, {"east": []})
    publish(lake, SECOND, {"east": ["names collide"]})
    assert notify(command, lake, SECOND, webhook.url("a"))[0] == 0
    publish(lake, SECOND, {"east": ["names collide"]})  # a rerun with the same result
    assert notify(command, lake, SECOND, webhook.url("a"), webhook.url("b")) == (
        0,
        "Sent to URL 2 of --to (JSON)\nSent before to URL 1 of --to (JSON)\n",
    )
    # What maintenance does: the rows of the superseded attempt are deleted.
    lake.delete(NOTIFICATION, [], [attempt for attempt in lake.attempts(NOTIFICATION) if attempt.number == 1])
    assert notify(command, lake, SECOND, webhook.url("a"))[1] == "Sent before to URL 1 of --to (JSON)\n"
    publish(lake, SECOND, {"east": ["configs are missing"]})
    assert notify(command, lake, SECOND, webhook.url("a"))[1] == "Sent to URL 1 of --to (JSON)\n"
    assert (len(webhook.titles("a")), len(webhook.titles("b"))) == (2, 1)


def test_a_failed_message_is_one_line_is_not_recorded_and_is_sent_later(lake: Lake, webhook: Webhook, command: Command) -> None:
    publish(lake, FIRST, {"east": []})
    publish(lake, SECOND, {"east": ["names collide"]})
    webhook.status = 503
    code, printed = notify(command, lake, SECOND, webhook.url("token-in-the-path"))
    assert code == 7
    (line,) = printed.splitlines()
    assert line.startswith("topology-audit: not sent to URL 1 of --to (JSON): Failed to send JSON POST notification: ")
    assert line.endswith(": the night is published, run `topology-audit notify --snapshot 2026-01-02`")
    assert query(lake, "SELECT * FROM notification") == []
    assert query(lake, "SELECT cluster_id FROM snapshot WHERE latest") == [("east",)]
    webhook.status = 200
    assert notify(command, lake, SECOND, webhook.url("token-in-the-path"))[0] == 0
    assert len(webhook.messages) == 1


def test_no_url_is_stored(lake: Lake, webhook: Webhook, command: Command) -> None:
    publish(lake, FIRST, {"east": []})
    publish(lake, SECOND, {"east": ["names collide"]})
    notify(command, lake, SECOND, webhook.url("token-in-the-path"))
    [(recipient, title)] = query(lake, "SELECT recipient, title FROM notification")
    assert str(recipient).startswith("url ")
    assert title == webhook.titles("token-in-the-path")[0]
    assert isinstance(lake, FolderLake)
    stored = b"".join(path.read_bytes() for path in (lake.folder / "notification").rglob("*") if path.is_file())
    assert [secret for secret in SECRETS if secret.encode() in stored] == []


def test_urls_come_from_the_environment_too(lake: Lake, webhook: Webhook, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(lake, FIRST, {"east": []})
    publish(lake, SECOND, {"east": ["names collide"]})
    monkeypatch.setenv("TOPOLOGY_NOTIFY", f"{webhook.url('a')} {webhook.url('b')}")
    assert notify(command, lake, SECOND)[0] == 0
    assert (len(webhook.titles("a")), len(webhook.titles("b"))) == (1, 1)


def test_an_invalid_url_is_an_error_before_anything_is_sent(lake: Lake, webhook: Webhook, command: Command) -> None:
    code, printed = notify(command, lake, SECOND, webhook.url(), "secret://open-sesame")
    assert code == 1
    assert printed.startswith("topology-audit: URL 2 of --to is not valid for any service of Apprise: see https://")
    assert webhook.messages == []


def test_nobody_to_notify_is_an_error(lake: Lake, command: Command) -> None:
    publish(lake, FIRST, {"east": []}, contacts={"platform": "#platform in chat"})
    assert notify(command, lake, FIRST) == (
        1,
        "topology-audit: nobody to notify: give --to a URL, set the variable TOPOLOGY_NOTIFY, or give an [[owner]] a URL as its contact\n",
    )


def test_each_owner_gets_a_message_about_the_findings_of_that_owner(
    lake: Lake, webhook: Webhook, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_WEBHOOK", webhook.url("search"))
    owners = {"names collide": "payments, search", "configs are missing": "payments", ONE_BROKER: "platform"}
    contacts = {
        "payments": webhook.url("payments"),
        "search": "$SEARCH_WEBHOOK",
        "platform": "#platform in chat",
        "idle": webhook.url("idle"),
    }
    policy: dict[str, Any] = {"owners": owners, "contacts": contacts}
    publish(lake, FIRST, {"east": ["configs are missing"], "west": []}, **policy)
    publish(lake, SECOND, {"east": ["names collide"], "west": ["names collide"]}, **policy)
    code, printed = notify(command, lake, SECOND, webhook.url())
    assert (code, printed) == (0, "Sent to URL 1 of --to (JSON), owner payments, owner search\n")
    assert webhook.titles("payments") == ["Kafka topology audit 2026-01-02: payments: 2 new findings, 1 repaired finding"]
    assert webhook.bodies("payments")[0].splitlines() == [
        "east: new finding, hygiene: 2 topics whose names collide. Smallest change: rename",
        "west: new finding, hygiene: 2 topics whose names collide. Smallest change: rename",
        "east: repaired finding, hygiene: 2 topics whose configs are missing",
    ]
    assert webhook.titles("search") == ["Kafka topology audit 2026-01-02: search: 2 new findings"]
    assert (len(webhook.titles()), webhook.titles("idle")) == (1, [])
    # Owners alone are enough, and a rerun repeats no message.
    publish(lake, SECOND, {"east": ["names collide"], "west": ["names collide"]}, **policy)
    assert notify(command, lake, SECOND) == (0, "Sent before to owner payments, owner search\n")
    assert len(webhook.messages) == 3


def test_an_owner_without_a_usable_url_is_reported(lake: Lake, webhook: Webhook, command: Command) -> None:
    owners = {"names collide": "payments, search"}
    contacts = {"payments": "$PAYMENTS_WEBHOOK", "search": "secret://open-sesame"}
    publish(lake, FIRST, {"east": []}, owners=owners, contacts=contacts)
    publish(lake, SECOND, {"east": ["names collide"]}, owners=owners, contacts=contacts)
    code, printed = notify(command, lake, SECOND, webhook.url())
    assert code == 7
    assert "owner payments: its contact $PAYMENTS_WEBHOOK is not set in the environment" in printed
    assert "owner search: its contact is not valid for any service of Apprise" in printed
    assert len(webhook.messages) == 1  # the others get theirs


def test_a_waived_finding_is_silent(lake: Lake, webhook: Webhook, command: Command) -> None:
    publish(lake, FIRST, {"east": ["names collide"], "west": []}, waived=("names collide",))
    waived = (ONE_BROKER, "configs are missing")
    publish(lake, SECOND, {"east": [], "west": list(waived)}, fatal={"west": 9}, waived=waived)
    # West is newly fatal, but a waiver accepts all that one broker's death does.
    assert notify(command, lake, SECOND, webhook.url()) == (0, "Nothing changed in night 2026-01-02: no message.\n")
    publish(lake, SECOND, {"east": [], "west": list(waived)}, fatal={"west": 9}, waived=("configs are missing",))
    assert notify(command, lake, SECOND, webhook.url())[0] == 0
    assert webhook.titles() == ["Kafka topology audit 2026-01-02: 2 clusters: 1 newly fatal, 1 with new findings"]


def test_a_long_message_is_cut(lake: Lake, webhook: Webhook, command: Command) -> None:
    clusters = [f"c{number:02}" for number in range(40)]
    publish(lake, FIRST, {id: [] for id in clusters})
    publish(lake, SECOND, {id: ["names collide"] for id in clusters})
    notify(command, lake, SECOND, webhook.url())
    lines = webhook.bodies()[0].splitlines()
    assert len(lines) == 30
    assert lines[-1] == "and 11 more lines; the views finding and survival have all"


def test_the_lost_broker_of_a_real_cluster_is_in_the_message(changed_nights: Lake, webhook: Webhook, command: Command) -> None:
    assert notify(command, changed_nights, REAL_NIGHT, webhook.url())[0] == 0
    # Each cluster of the first night has an expired waiver, and the second night has none.
    assert webhook.titles() == ["Kafka topology audit 2026-01-02: 2 clusters: 1 with new findings, 2 with repaired findings"]
    first, *_ = webhook.bodies()[0].splitlines()
    # Two partitions have "Leader: none" in the dump of the second night, and none in that of the first.
    assert first.startswith("payments-us: new finding, unavailable: 2 partitions without a live leader now. Smallest change: bring back ")
