"""librdkafka's partitioners, called through ctypes in the library that confluent-kafka bundles."""

from __future__ import annotations

import ctypes
import random
import subprocess
from typing import Any

from jobs.spark import jars
from kafka_model.partitioner.other_clients import librdkafka_partition

PROGRAMS = {"confluent-kafka 2.16.1": "rd_kafka_msg_partitioner"}
RECORDED = 1_000
NAMES = ["random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"]
PRODUCER = 0


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a null, empty or other key and 1 to 200 partitions."""
    key = rng.choice([None, "", rng.randbytes(rng.randrange(30)).hex(), rng.randbytes(rng.randrange(30)).hex()])
    return {"partitioner": rng.choice(NAMES), "key": key, "partitions": rng.choice([1, 2, 3, 12, rng.randint(1, 200)])}


def answer(case: dict[str, Any], kafka: str) -> int | None:
    """Compute the partition, or null if it is random."""
    return librdkafka_partition(case["partitioner"], None if case["key"] is None else bytes.fromhex(case["key"]), case["partitions"])


def ask(program: str, version: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Call the library with a producer that never connects. uv installs it into the cache."""
    folder = jars.CACHE / "oracle" / version.replace(" ", "-")
    if not folder.exists():
        subprocess.run(
            ["uv", "pip", "install", "--no-deps", "--target", str(folder), version.replace(" ", "==")], check=True, capture_output=True
        )
    library = ctypes.CDLL(str(next(folder.glob("confluent_kafka.libs/librdkafka-*"))))
    library.rd_kafka_new.restype = library.rd_kafka_topic_new.restype = ctypes.c_void_p
    producer = ctypes.c_void_p(library.rd_kafka_new(PRODUCER, None, ctypes.create_string_buffer(512), 512))
    topic = ctypes.c_void_p(library.rd_kafka_topic_new(producer, b"t", None))
    results = []
    for case in cases:
        key = None if case["key"] is None else bytes.fromhex(case["key"])
        partitioner = getattr(library, f"{program}_{case['partitioner']}")

        def partition(partitions: int, partitioner: Any = partitioner, key: bytes | None = key) -> int:
            return int(partitioner(topic, key, ctypes.c_size_t(len(key or b"")), ctypes.c_int32(partitions), None, None))

        at_random = len({partition(1 << 30) for _ in range(8)}) > 1  # eight random draws of 2^30 partitions are not all equal
        results.append({"answer": None if at_random else partition(case["partitions"])})
    return results
