"""Count what the recovered draws of StripedReplicaPlacer explain, with the placer of Kafka's own jars.

    python -m tests.oracle.moved_replicas --cases 10000

Each topic is placed by Kafka, and compared as it is and with one replica moved to another broker. A moved topic that other draws explain is
placed again by these draws, and its number of placements is counted: partitions that were added are a placement of their own.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections import Counter

from kafka_model.placement.striped_draws import recover
from tests.kafka_model.placement.scripted_placer import place_again
from tests.oracle.algorithm import load, record_cases
from tests.oracle.algorithms.striped_draws import moved_by_hand, states


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.moved_replicas", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", default=secrets.token_hex(4), help="random if not given")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for recorded in record_cases(load("striped_draws"), seed=arguments.seed, cases=arguments.cases):
        case, replicas = recorded.case, recorded.result["answer"]
        counts[f"placed topics, explained: {recover(states(case), replicas, compiled=True).explained}"] += 1
        move = moved_by_hand(case, replicas)
        if move is None:
            counts["no other broker for a replica"] += 1
            continue
        partition, moved = move
        recovered = recover(states(case), moved, compiled=True)
        if recovered.explained:
            again = place_again(case["brokers"], recovered.placements, len(moved), case["replication_factor"])
            more = len(recovered.placements) - len(case["placements"])
            counts[f"moved, explained by {more:+} placements; placed again: {again == moved}"] += 1
        elif recovered.placements:
            counts[f"moved, not explained; first unexplained partition is the moved one: {recovered.first_unexplained == partition}"] += 1
        else:
            counts["moved, no placement explains the topic"] += 1
    print(f"seed {arguments.seed}")
    for name, count in sorted(counts.items()):
        print(f"{count:>8,} {name}")
    wrong = counts["placed topics, explained: False"] + sum(count for name, count in counts.items() if name.endswith("placed again: False"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
