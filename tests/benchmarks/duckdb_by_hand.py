"""Steps of the pipeline written by hand in DuckDB, from Delta to Delta: plain SQL for the tables of a generated fleet.

The rules are those of the generated fleets: dead brokers are out of sync, no ELR has a live member, and no voters of a quorum are known.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
from deltalake import convert_to_deltalake

from jobs.lake.lake import Lake
from jobs.schema import BROKER, CLUSTER, KEY_SAMPLE, PARTITION, PRODUCER_LOAD, TOPIC

_INPUTS = (CLUSTER, BROKER, TOPIC, PARTITION, KEY_SAMPLE, PRODUCER_LOAD)
# Murmur2 of Kafka on the words of a key, little-endian, and on the bytes after the last whole word.
_MURMUR2_MACROS = """
CREATE TEMP MACRO mul32(a, b) AS (a * b) & 4294967295;
CREATE TEMP MACRO byte_at(hex_text, i) AS (CAST('0x' || hex_text[2 * i + 1 : 2 * i + 2] AS UBIGINT));
CREATE TEMP MACRO word_at(hex_text, i) AS byte_at(hex_text, 4 * i) + 256 * byte_at(hex_text, 4 * i + 1)
    + 65536 * byte_at(hex_text, 4 * i + 2) + 16777216 * byte_at(hex_text, 4 * i + 3);
CREATE TEMP MACRO mixed(word) AS mul32(xor(mul32(word, 1540483477::UBIGINT), mul32(word, 1540483477::UBIGINT) >> 24), 1540483477::UBIGINT);
CREATE TEMP MACRO words(hex_text, length) AS list_reduce(
    [xor(2538058380::UBIGINT, length::UBIGINT)] || list_transform(range(length // 4), lambda i: mixed(word_at(hex_text, i))),
    lambda h, k: xor(mul32(h, 1540483477::UBIGINT), k));
CREATE TEMP MACRO tail(hex_text, length, h) AS CASE WHEN length % 4 = 0 THEN h ELSE mul32(
    xor(h, list_sum(list_transform(range(length % 4), lambda i: byte_at(hex_text, length - length % 4 + i) << CAST(8 * i AS UBIGINT)))::UBIGINT),
    1540483477::UBIGINT) END;
CREATE TEMP MACRO avalanche(h) AS xor(mul32(xor(h, h >> 13), 1540483477::UBIGINT), mul32(xor(h, h >> 13), 1540483477::UBIGINT) >> 15);
CREATE TEMP MACRO murmur2(hex_text, length) AS avalanche(tail(hex_text, length, words(hex_text, length)));
"""
# AdminUtils with racks: every pattern of first index, shift and replication factor of a cluster; the one that explains the most partitions
# of a topic is the topic's.
_PLACEMENT = """
WITH arranged AS (
    SELECT cluster_id, list(broker_id ORDER BY index_in_rack, rack) AS ids, list(rack ORDER BY index_in_rack, rack) AS racks
    FROM (SELECT *, row_number() OVER (PARTITION BY cluster_id, rack ORDER BY broker_id) AS index_in_rack FROM broker)
    SEMI JOIN (SELECT cluster_id FROM cluster WHERE controller = 'zookeeper') USING (cluster_id) GROUP BY cluster_id
), factor AS (
    SELECT DISTINCT cluster_id, replication_factor FROM topic
), pattern AS (
    SELECT cluster_id, replication_factor, first, shift, list_transform(list_reduce(
        [[first]] || list_transform(range(len(ids) - 1), lambda k: [(first + 1 + (shift * len(list_distinct(racks)) + k) % (len(ids) - 1)) % len(ids)]),
        lambda chosen, next: CASE WHEN len(chosen) < replication_factor
            AND (len(chosen) >= len(list_distinct(racks)) OR NOT list_contains(list_transform(chosen, lambda c: racks[c + 1]), racks[next[1] + 1]))
            THEN chosen || next ELSE chosen END), lambda index: ids[index + 1]) AS replicas, len(ids) AS brokers
    FROM (SELECT *, unnest(range(len(ids) - 1)) AS shift FROM (SELECT *, unnest(range(len(ids))) AS first FROM arranged))
    JOIN factor USING (cluster_id)
), voted AS (
    SELECT cluster_id, topic, (first - partition % brokers + brokers) % brokers AS start,
           (shift - partition // brokers % (brokers - 1) + brokers - 1) % (brokers - 1) AS first_shift, count(*) AS explained
    FROM partition JOIN topic USING (cluster_id, topic) JOIN pattern USING (cluster_id, replication_factor, replicas)
    GROUP BY ALL
), best AS (
    SELECT cluster_id, topic, arg_max(struct_pack(start, first_shift), explained) AS best FROM voted GROUP BY cluster_id, topic
)
SELECT p.cluster_id, p.topic, p.partition, p.replicas, c.replicas AS computed_replicas, p.replicas IS DISTINCT FROM c.replicas AS drifted
FROM partition p JOIN topic t USING (cluster_id, topic) JOIN arranged a USING (cluster_id) LEFT JOIN best b USING (cluster_id, topic)
LEFT JOIN pattern c ON c.cluster_id = p.cluster_id AND c.replication_factor = t.replication_factor
     AND c.first = (p.partition + b.best.start) % len(a.ids)
     AND c.shift = (p.partition // len(a.ids) + b.best.first_shift) % (len(a.ids) - 1)
"""
_KEYS = """
SELECT cluster_id, topic, CAST((murmur2(hex(key), octet_length(key)) & 2147483647) % partitions AS INT) AS partition,
       sum(records) AS keyed_records, sum(size_bytes) AS size_bytes
FROM key_sample JOIN topic USING (cluster_id, topic) WHERE key IS NOT NULL GROUP BY ALL
"""
_HARMS = """
    leader IS NOT NULL AND leader_after IS NULL AS newly_offline,
    leader_after IS NOT NULL AND in_sync_after < min_isr AND NOT (leader IS NULL OR len(isr) < min_isr) AS newly_refusing_acks_all,
    in_sync_after = 0 AND len(isr) > 0 AS newly_lost
"""
# An ISR never gets empty: without a live member of the ISR there is a leader only by an unclean election.
_SINGLE = f"""
WITH died AS (
    SELECT p.*, coalesce(t.min_insync_replicas, 1) AS min_isr, coalesce(t.configs['unclean.leader.election.enable'] = 'true', false) AS unclean,
           unnest(list_intersect(p.replicas, l.live)) AS broker_id, l.live
    FROM partition p JOIN topic t USING (cluster_id, topic) JOIN live l USING (cluster_id)
), elected AS (
    SELECT *, len(isr) - CAST(list_contains(isr, broker_id) AS INT) AS in_sync_after,
           CASE WHEN leader <> broker_id THEN leader ELSE coalesce(
               list_filter(replicas, lambda r: r <> broker_id AND list_contains(isr, r))[1],
               CASE WHEN unclean THEN list_filter(replicas, lambda r: r <> broker_id AND list_contains(live, r))[1] END) END AS leader_after
    FROM died
), outcome AS (
    SELECT *, {_HARMS}, CASE WHEN leader IS NULL OR leader = leader_after THEN 0 ELSE greatest(0,
        replica_size_bytes[list_position(replicas, leader)] - coalesce(replica_size_bytes[list_position(replicas, leader_after)],
            list_max(list_transform(list_filter(replicas, lambda r: r <> broker_id AND list_contains(live, r)),
                                    lambda r: replica_size_bytes[list_position(replicas, r)])), 0)) END AS at_risk_size_bytes
    FROM elected
)
SELECT o.cluster_id, 'broker ' || broker_id AS scenario_id, o.topic, o.partition, leader_after AS leader, leader AS leader_before,
       newly_offline, newly_refusing_acks_all, newly_lost, at_risk_size_bytes,
       CAST(CASE WHEN at_risk_size_bytes = 0 THEN 0 WHEN observed_size_bytes > 0
            THEN ceil(at_risk_size_bytes * (observed_records / observed_size_bytes)) END AS BIGINT) AS at_risk_records
FROM outcome o LEFT JOIN producer_load l USING (cluster_id, topic, partition)
"""
_LOAD = """
SELECT cluster_id, scenario_id, leader AS broker_id, count(*) AS gained_leaders, sum(records) AS gained_records, sum(size_bytes) AS gained_size_bytes
FROM read_parquet('{folder}/single/*.parquet') LEFT JOIN producer_load USING (cluster_id, topic, partition)
WHERE leader IS NOT NULL AND leader IS DISTINCT FROM leader_before GROUP BY ALL
"""
_PAIRS = f"""
WITH alone AS (
    SELECT cluster_id, CAST(split_part(scenario_id, ' ', 2) AS INT) AS broker_id, topic, partition,
           CAST(newly_offline AS INT) AS offline, CAST(newly_refusing_acks_all AS INT) AS refusing, CAST(newly_lost AS INT) AS lost
    FROM read_parquet('{{folder}}/single/*.parquet')
), summed AS (
    SELECT cluster_id, broker_id, sum(offline) AS offline, sum(refusing) AS refusing, sum(lost) AS lost FROM alone GROUP BY ALL
), died AS (
    SELECT p.cluster_id, topic, partition, leader, isr, replicas, live, coalesce(t.min_insync_replicas, 1) AS min_isr,
           coalesce(t.configs['unclean.leader.election.enable'] = 'true', false) AS unclean, a.broker_id, b.broker_id AS other_broker_id,
           a.offline + b.offline AS offline_alone, a.refusing + b.refusing AS refusing_alone, a.lost + b.lost AS lost_alone
    FROM partition p JOIN topic t USING (cluster_id, topic) JOIN live l USING (cluster_id)
    JOIN alone a USING (cluster_id, topic, partition) JOIN alone b USING (cluster_id, topic, partition) WHERE a.broker_id < b.broker_id
), elected AS (
    SELECT *, len(list_filter(isr, lambda r: r NOT IN (broker_id, other_broker_id))) AS in_sync_after,
           CASE WHEN leader NOT IN (broker_id, other_broker_id) THEN leader ELSE coalesce(
               list_filter(replicas, lambda r: r NOT IN (broker_id, other_broker_id) AND list_contains(isr, r))[1], CASE WHEN unclean THEN
               list_filter(replicas, lambda r: r NOT IN (broker_id, other_broker_id) AND list_contains(live, r))[1] END) END AS leader_after
    FROM died
), joint AS (
    SELECT cluster_id, broker_id, other_broker_id, count(*) AS shared_partitions,
           sum(CAST(newly_offline AS INT) - offline_alone) AS offline, sum(CAST(newly_refusing_acks_all AS INT) - refusing_alone) AS refusing,
           sum(CAST(newly_lost AS INT) - lost_alone) AS lost
    FROM (SELECT *, {_HARMS} FROM elected) GROUP BY ALL
)
SELECT j.cluster_id, j.broker_id, j.other_broker_id, shared_partitions, j.offline + a.offline + b.offline AS newly_offline,
       j.refusing + a.refusing + b.refusing AS newly_refusing_acks_all, j.lost + a.lost + b.lost AS newly_lost
FROM joint j JOIN summed a USING (cluster_id, broker_id)
JOIN summed b ON b.cluster_id = j.cluster_id AND b.broker_id = j.other_broker_id
"""
_STEPS = {"placement": _PLACEMENT, "keys": _KEYS, "single": _SINGLE, "load": _LOAD, "pairs": _PAIRS}


class Step(NamedTuple):
    """A step by hand: its wall time, and the rows that it wrote."""

    name: str
    seconds: float
    rows: int


def run_duckdb(lake: Lake, snapshot_id: str, folder: Path) -> Iterator[Step]:
    """Run each step on the tables of a lake in a folder, and write a Delta table for each into `folder`."""
    with duckdb.connect() as connection:
        connection.execute(_MURMUR2_MACROS)
        connection.execute("SET preserve_insertion_order = false")
        for table in _INPUTS:
            connection.execute(f'CREATE TEMP VIEW "{table.name}" AS {lake.duckdb_query(table, snapshot_id=snapshot_id)}')
        connection.execute("CREATE TEMP VIEW live AS SELECT cluster_id, list(broker_id) AS live FROM broker WHERE live GROUP BY ALL")
        for name, query in _STEPS.items():
            target = folder / name
            shutil.rmtree(target, ignore_errors=True)
            started = time.monotonic()
            connection.execute(f"COPY ({query.replace('{folder}', str(folder))}) TO '{target}' (FORMAT parquet, PER_THREAD_OUTPUT)")
            convert_to_deltalake(target)
            seconds = time.monotonic() - started
            ((rows,),) = connection.sql(f"SELECT count(*) FROM read_parquet('{target}/*.parquet')").fetchall()
            yield Step(name, seconds, rows)
