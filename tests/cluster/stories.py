"""The contents of the recorded clusters: topics, two days of records, consumer groups, and the failure scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.cluster.workload import Group, Sent, skewed

RANGE = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}
ROUND_ROBIN = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor"}
STICKY = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor"}
COOPERATIVE = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}
UNIFORM = {"group.protocol": "consumer", "group.remote.assignor": "uniform"}
SERVER_RANGE = {"group.protocol": "consumer", "group.remote.assignor": "range"}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to create; Kafka places it unless `assignment` is given."""

    name: str
    partitions: int
    replication_factor: int
    min_insync_replicas: int
    configs: Mapping[str, str] | None = None
    assignment: str | None = None


@dataclass(frozen=True, slots=True)
class Nights:
    """The events in a cluster before each of its daily dumps."""

    days: Sequence[Sequence[Sent]]
    groups: Sequence[Group]
    empty: str  # a group with committed offsets and no members
    empty_reads: tuple[str, ...]
    capacity: Mapping[int, object]  # megabytes of the broker, or of each log dir
    lost: int | None = None  # the broker killed before the second dump


@dataclass(frozen=True, slots=True)
class Story:
    """A cluster, its contents, and its failure scenarios: lists of steps that start from a healthy cluster."""

    racks: Mapping[int, str]
    topics: Sequence[Topic]
    nights: Nights | None
    scenarios: Mapping[str, Sequence[str]]
    zookeeper: bool = False
    cluster_id: str = ""
    controller: int | None = None  # None: the brokers are the controllers
    log_dirs: int = 1


def _orders_day(day: int) -> list[Sent]:
    return [
        *skewed("orders", "customer-", keys=140, records=4_000 + 900 * day, value_bytes=320, day=day),
        *skewed("order-events", "bestellung-größe-", keys=90, records=2_400, value_bytes=180, day=day),
        Sent("order-events", None, None, 500, 90_000),
        Sent("order-events", "", None, 60, 9_000),
        *skewed("customers", "customer-", keys=120, records=900, value_bytes=500, day=day),
        *skewed("invoices", "inv-", keys=110, records=700, value_bytes=900, day=day),
        *[Sent("shipments", None, partition, 150 * (partition + 1), 45_000 * (partition + 1)) for partition in range(6)],
        Sent("clickstream", None, None, 9_000, 1_080_000),
        *skewed("prices", "sku-", keys=60, records=1_500, value_bytes=60, day=day),
        *skewed("stock-levels", "sku-", keys=80, records=1_200, value_bytes=100, day=day),
        Sent("stock-levels", "sku-1", 0, 40, 4_000),
        Sent("audit-log", None, None, 300, 75_000),
    ]


def _payments_day(day: int) -> list[Sent]:
    return [
        *skewed("payments", "acct-", keys=140, records=3_500 + 700 * day, value_bytes=400, day=day),
        *skewed("ledger", "acct-", keys=110, records=2_000, value_bytes=250, day=day),
        *skewed("authorizations", "card-", keys=130, records=2_600, value_bytes=200, day=day),
        Sent("authorizations", None, None, 700, 140_000),
        *skewed("refunds", "acct-", keys=50, records=300, value_bytes=350, day=day),
        *skewed("card-tokens", "card-", keys=120, records=800, value_bytes=120, day=day),
        *skewed("fraud-scores", "card-", keys=100, records=1_800, value_bytes=90, day=day),
        *skewed("fx-rates", "USD/", keys=30, records=900, value_bytes=40, day=day),
        *[Sent("settlement-files", None, partition, 20 + 30 * partition, 60_000 * (partition + 1)) for partition in range(4)],
        Sent("notifications", None, None, 6_000, 900_000),
        *skewed("chargebacks", "case-", keys=40, records=250, value_bytes=600, day=day),
        *skewed("session-cache", "session-", keys=120, records=1_000, value_bytes=150, day=day),
    ]


def _stock_day(day: int) -> list[Sent]:
    return [
        *skewed("stock", "sku-", keys=80, records=1_200, value_bytes=200, day=day),
        *skewed("movements", "pallet-", keys=60, records=900, value_bytes=150, day=day),
        Sent("counts", None, None, 600, 60_000),
        *skewed("audits", "site-", keys=20, records=200, value_bytes=400, day=day),
        *[Sent("labels", None, partition, 30 + partition, 3_000 + 100 * partition) for partition in range(5)],
        *skewed("forecasts", "sku-", keys=40, records=400, value_bytes=100, day=day),
    ]


STORIES = {
    "orders-eu": Story(
        cluster_id="b3JkZXJzLWV1LWNsdXN0ZQ",
        racks={1: "rack-a", 2: "rack-b", 3: "rack-c"},
        topics=(
            Topic("orders", 12, 3, 2),
            Topic("order-events", 9, 3, 2),
            Topic("customers", 8, 3, 2, {"cleanup.policy": "compact"}),
            Topic("invoices", 6, 2, 1),
            Topic("shipments", 6, 3, 1),
            Topic("clickstream", 16, 2, 1, {"retention.ms": "86400000", "segment.bytes": "1048576"}),
            Topic("prices", 4, 3, 2),
            # Assigned by hand: every leader on one broker.
            Topic("stock-levels", 5, 3, 2, assignment="1:2:3,1:3:2,1:2:3,1:3:2,1:2:3"),
            Topic("audit-log", 1, 3, 2, {"retention.ms": "-1"}),
        ),
        nights=Nights(
            days=(_orders_day(0), _orders_day(1)),
            groups=(
                Group("billing", [["orders", "invoices"]] * 5, RANGE),
                Group("warehouse", [["shipments", "stock-levels"]] * 4, ROUND_ROBIN, paused=True),
                Group("search-index", [["customers", "order-events"]] * 3, COOPERATIVE),
                Group("analytics", [["clickstream", "orders"]] * 4, UNIFORM, paused=True),
                Group("pricing", [["prices"]] * 6, RANGE),
                Group("fulfilment", [["order-events"]] * 3, RANGE, static=True),
                Group("sessions", [["clickstream", "order-events"]] * 3, SERVER_RANGE),
            ),
            empty="nightly-report",
            empty_reads=("orders", "invoices"),
            capacity={1: "64", 2: "64", 3: "64"},
        ),
        scenarios={
            "broker-1": ("kill 1", "start 1"),
            "broker-2": ("kill 2", "start 2"),
            "broker-3": ("kill 3", "start 3"),
            "broker-1-stopped": ("stop 1", "start 1"),
            # Leaders do not return by themselves: before the second loss, they are not the preferred ones.
            "broker-2-after-1-came-back": ("kill 1", "start 1", "kill 2", "start 2"),
        },
    ),
    "payments-us": Story(
        cluster_id="cGF5bWVudHMtdXMtY2x1cw",
        racks={11: "rack-a", 12: "rack-b", 13: "rack-c"},
        controller=1,
        log_dirs=2,
        topics=(
            Topic("payments", 12, 3, 2),
            Topic("ledger", 6, 3, 3),
            Topic("authorizations", 10, 3, 1),
            Topic("refunds", 6, 2, 2),
            Topic("card-tokens", 8, 3, 2, {"cleanup.policy": "compact"}),
            Topic("fraud-scores", 9, 2, 1),
            Topic("fx-rates", 3, 1, 1),
            Topic("settlement-files", 4, 1, 1, {"retention.ms": "-1"}),
            Topic("notifications", 12, 3, 2),
            Topic("chargebacks", 5, 3, 2, assignment="11:12:13,11:13:12,11:12:13,11:13:12,12:11:13"),
            Topic("session-cache", 4, 2, 1, {"unclean.leader.election.enable": "true"}),
        ),
        nights=Nights(
            days=(_payments_day(0), _payments_day(1)),
            groups=(
                Group("ledger-writer", [["payments", "ledger"]] * 4, RANGE, static=True),
                Group("fraud", [["authorizations", "fraud-scores"], ["authorizations"], ["fraud-scores"]], ROUND_ROBIN),
                Group("notifier", [["notifications"]] * 5, COOPERATIVE, paused=True),
                Group("risk", [["payments", "authorizations"]] * 3, UNIFORM),
                Group("settlement", [["settlement-files", "fx-rates"]] * 6, RANGE),
                Group("chargeback-desk", [["chargebacks", "refunds"]] * 2, STICKY, paused=True),
                Group("vault", [["card-tokens"]] * 2, UNIFORM),
            ),
            empty="reconcile",
            empty_reads=("payments", "ledger"),
            capacity={
                11: {"/var/lib/kafka/data1": "32", "/var/lib/kafka/data2": "32"},
                12: {"/var/lib/kafka/data1": "32", "/var/lib/kafka/data2": "32"},
                13: {"/var/lib/kafka/data1": "32", "/var/lib/kafka/data2": "64"},
            },
            lost=11,
        ),
        scenarios={
            "broker-11": ("kill 11", "start 11"),
            "broker-12": ("kill 12", "start 12"),
            "broker-13": ("kill 13", "start 13"),
            "broker-12-stopped": ("stop 12", "start 12"),
            "brokers-11-12": ("kill 11", "kill 12", "start 12", "start 11"),
            "brokers-11-13": ("kill 11", "kill 13", "start 11", "start 13"),
            "all-brokers": ("kill 13", "kill 12", "kill 11", "start 12", "start 13", "start 11"),
        },
    ),
    "six": Story(
        cluster_id="c2l4LWJyb2tlcnMtdGhyZQ",
        racks={11: "rack-a", 12: "rack-a", 21: "rack-b", 22: "rack-b", 31: "rack-c", 32: "rack-c"},
        controller=1,
        topics=(
            Topic("rf3-min2", 12, 3, 2),
            Topic("rf3-min3", 9, 3, 3),
            Topic("rf3-min1", 9, 3, 1),
            Topic("rf2-min1", 9, 2, 1),
            Topic("rf2-min2", 9, 2, 2),
            Topic("rf1-min1", 6, 1, 1),
            Topic("rf3-min2-unclean", 6, 3, 2, {"unclean.leader.election.enable": "true"}),
            Topic("rf2-min1-unclean", 6, 2, 1, {"unclean.leader.election.enable": "true"}),
            Topic("rf4-min3", 6, 4, 3),
            # Assigned by hand without regard to racks: all replicas of a partition are in one rack.
            Topic("rackless", 6, 2, 1, assignment="11:12,12:11,21:22,22:21,31:32,32:31"),
        ),
        nights=None,
        scenarios={
            **{f"broker-{id}": (f"kill {id}", f"start {id}") for id in (11, 12, 21, 22, 31, 32)},
            "broker-22-stopped": ("stop 22", "start 22"),
            "rack-a": ("kill 11 12", "start 11", "start 12"),
            "rack-b-stopped": ("stop 21", "stop 22", "start 22", "start 21"),
            "racks-a-c": ("kill 11 12 31 32", "start 31", "start 12", "start 32", "start 11"),
            "brokers-11-21": ("kill 11", "kill 21", "start 21", "start 11"),
            "brokers-21-11": ("kill 21", "kill 11", "start 21", "start 11"),
            "brokers-12-22-32": ("kill 12", "kill 22", "kill 32", "start 12", "start 22", "start 32"),
            "brokers-12-22-32-stopped": ("stop 12", "stop 22", "stop 32", "start 32", "start 12", "start 22"),
            "broker-31-stopped-then-21-11": ("stop 31", "kill 21", "kill 11", "start 11", "start 31", "start 21"),
        },
    ),
    # The last version with ZooKeeper: placed by AdminUtils, without ELR, and with an ISR that never becomes empty.
    "stock-ap": Story(
        zookeeper=True,
        racks={11: "rack-a", 12: "rack-a", 21: "rack-b", 22: "rack-b", 31: "rack-c", 32: "rack-c"},
        topics=(
            Topic("stock", 12, 3, 2),
            Topic("movements", 14, 3, 1),
            Topic("counts", 9, 2, 1),
            Topic("audits", 6, 2, 2),
            Topic("labels", 5, 1, 1),
            Topic("transfers", 8, 4, 3),
            Topic("forecasts", 7, 3, 2, {"unclean.leader.election.enable": "true"}),
            Topic("scans", 6, 2, 1, {"unclean.leader.election.enable": "true"}),
            Topic("shelves", 6, 2, 1, assignment="11:12,12:11,21:22,22:21,31:32,32:31"),
        ),
        nights=Nights(
            days=(_stock_day(0),),
            groups=(
                Group("replenish", [["stock", "movements"]] * 4, RANGE),
                Group("counting", [["counts"]] * 2, ROUND_ROBIN),
                Group("forecast", [["forecasts", "stock"]] * 3, COOPERATIVE),
            ),
            empty="yearly",
            empty_reads=("audits",),
            capacity={id: "64" for id in (11, 12, 21, 22, 31, 32)},
        ),
        scenarios={
            "broker-11": ("kill 11", "start 11"),
            "broker-22": ("kill 22", "start 22"),
            "broker-31-stopped": ("stop 31", "start 31"),
            "rack-a": ("kill 11 12", "start 12", "start 11"),
            "brokers-11-21-31": ("kill 11", "kill 21", "kill 31", "start 11", "start 21", "start 31"),
            "brokers-12-22-32-stopped": ("stop 12", "stop 22", "stop 32", "start 32", "start 12", "start 22"),
        },
    ),
}
