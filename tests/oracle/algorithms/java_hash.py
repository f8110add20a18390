"""Iteration order of java.util.HashMap in the oracle's JVM: growth, bins that become trees, equal hashes, Kafka's Uuid keys."""

from __future__ import annotations

import base64
import random
from typing import Any

from kafka_model.java.hash_map import (
    HashTable,
    hash_map_order,
    string_hash,
    string_hashes,
    string_order,
    table_size_for,
    uuid_hash,
    uuid_order,
)
from tests.oracle.groups import names

PROGRAMS = {"4.3.1": "HashOrder"}
RECORDED = 500


def case(rng: random.Random) -> dict[str, Any]:
    """Draw calls of put, computeIfAbsent and (where no bin is a tree) remove, with any initial capacity."""
    kind = rng.choice(("string", "int", "uuid"))
    count = rng.choice((rng.randint(0, 14), rng.randint(0, 60), rng.randint(0, 60)))
    keys: list[Any]
    if kind == "string":
        keys = names(rng, min(count, 27))
        if rng.random() < 0.3:
            keys += ["".join(rng.choices(("Aa", "BB", "C#"), k=5)) for _ in range(count)]
    elif kind == "int":
        stride = rng.choice((1, 7, 16, 64, 64, 256, 70_000))
        keys = rng.sample([stride * number for number in range(2 * count)], count)
    else:
        keys = [base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=") for _ in range(count)]
    steps = [[rng.choice(("put", "put", "computeIfAbsent")) if rng.random() < 0.5 else "put", key] for key in keys]
    if rng.random() < 0.3 and kind == "uuid":
        steps += [["remove", key] for key in keys if rng.random() < 0.3]
        steps += [["put", key] for key in keys if rng.random() < 0.3]
    return {"kind": kind, "initial": rng.choice((None, None, 0, 1, 5, 17, 100)), "steps": steps}


def answer(case: dict[str, Any], kafka: str) -> dict[str, Any]:
    """List the hashes and the order of the table; if all calls are put, the order is that of `hash_map_order`."""
    hash_of, tie = {"string": (string_hash, string_order), "int": (int, int), "uuid": (uuid_hash, uuid_order)}[case["kind"]]
    initial = 16 if case["initial"] is None else table_size_for(case["initial"])
    table: HashTable[Any] = HashTable(hash_of, initial=initial, tie=tie)
    for step, key in case["steps"]:
        {"put": table.put, "computeIfAbsent": table.compute_if_absent, "remove": table.discard}[step](key)
    order = list(table)
    hashes = string_hashes(order) if case["kind"] == "string" else [hash_of(key) for key in order]
    if {step for step, _ in case["steps"]} == {"put"}:
        order = hash_map_order([key for _, key in case["steps"]], lambda keys: [hash_of(key) for key in keys], initial=initial, tie=tie)
    return {"hashes": hashes, "order": order}
