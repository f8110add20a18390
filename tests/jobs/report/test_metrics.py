"""metrics.prom has the values of the tables, at most 50 series for each cluster, and every metric of the dashboard."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from jobs.lake.lake import Lake
from jobs.report.metrics import METRICS, write_metrics
from jobs.views import DuckdbViews
from tests.jobs.two_nights import query

DASHBOARD = Path(__file__).parents[3] / "docker" / "grafana-dashboard.json"
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def series(two_nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Series:
    """The value of each series, by its name and its labels."""
    file = tmp_path_factory.mktemp("metrics") / "metrics.prom"
    write_metrics(DuckdbViews(two_nights), file)
    assert [path.name for path in file.parent.iterdir()] == ["metrics.prom"]
    families = text_string_to_metric_families(file.read_text(encoding="utf-8"))
    return {(sample.name, frozenset(sample.labels.items())): sample.value for family in families for sample in family.samples}


def value(series: Series, name: str, **labels: str) -> float:
    return series[f"kafka_topology_{name}", frozenset(labels.items())]


def test_a_cluster_has_at_most_50_series(series: Series) -> None:
    counted = Counter(dict(labels)["cluster"] for _, labels in series)
    assert counted.keys() == {"orders-eu", "payments-us"}
    assert max(counted.values()) <= 50


def test_the_values_are_those_of_the_tables(two_nights: Lake, series: Series) -> None:
    for cluster_id, data, lost, rack, leaders, findings in query(
        two_nights,
        "SELECT v.cluster_id, any_broker_data, broker_data_newly_lost, any_rack_writes, leader_skew, "
        "(SELECT count(*) FROM finding f WHERE f.latest AND f.cluster_id = v.cluster_id) FROM verdict v WHERE v.latest",
    ):
        cluster = {"cluster": str(cluster_id)}
        assert value(series, "survives", **cluster, failure="broker", harm="data") == data
        assert value(series, "worst_failure_partitions", **cluster, failure="broker", harm="data") == (lost or 0)
        assert value(series, "survives", **cluster, failure="rack", harm="writes") == rack
        assert value(series, "leader_skew", **cluster) == leaders
        counted = [count for (name, labels), count in series.items() if name == "kafka_topology_findings" and cluster.items() <= labels]
        assert (len(counted), sum(counted)) == (6, findings)
        assert value(series, "absent", **cluster) == 0
    assert value(series, "brokers", cluster="payments-us", state="dead") == 1


def test_the_dashboard_shows_every_metric_and_no_other(series: Series) -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    shown = {
        name for panel in dashboard["panels"] for target in panel["targets"] for name in re.findall(r"kafka_topology_\w+", target["expr"])
    }
    assert shown == {f"kafka_topology_{name}" for name in METRICS}
    assert {name for name, _ in series} <= shown
