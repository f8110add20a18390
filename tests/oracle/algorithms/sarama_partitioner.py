"""Sarama's partitioners, built by Go from go/sarama.go with the module of that version."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

from jobs.spark import jars
from kafka_model.partitioner.other_clients import sarama_partition

PROGRAMS = {"sarama 1.45.1": "sarama"}
RECORDED = 1_000
NAMES = ["random", "hash", "reference_hash", "unsigned_hash", "consistent_crc_hash"]


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a null, empty or other key and 1 to 200 partitions."""
    key = rng.choice([None, "", rng.randbytes(rng.randrange(30)).hex(), rng.randbytes(rng.randrange(30)).hex()])
    return {"partitioner": rng.choice(NAMES), "key": key, "partitions": rng.choice([1, 2, 3, 12, rng.randint(1, 200)])}


def answer(case: dict[str, Any], kafka: str) -> int | None:
    """Compute the partition, or null if it is random."""
    return sarama_partition(case["partitioner"], None if case["key"] is None else bytes.fromhex(case["key"]), case["partitions"])


def ask(program: str, version: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Build the Go program and run it on the cases."""
    folder = jars.CACHE / "oracle" / version.replace(" ", "-")
    shutil.copytree(Path(__file__).parents[1] / "go", folder, dirs_exist_ok=True)
    subprocess.run(["go", "mod", "tidy"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["go", "build", "-o", program, "."], cwd=folder, check=True, capture_output=True)
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([folder / program], input=lines, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
