"""Measure the night of the bundled snapshot, from the start of Python to the verdicts, and compare it with writing one empty Delta table.

    python -m tests.benchmarks.night

Both commands use the same Spark settings and the same class-data archive. They run alternately, six times each; the first run of each is not
counted.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EMPTY = "import sys; from jobs.spark.session import session; session().range(10).write.format('delta').save(sys.argv[1])"


def seconds(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    commands = {
        "night": [str(Path(sys.executable).with_name("topology-audit")), "nightly", "--snapshot", "2026-01-01", "--lake"],
        "empty": [sys.executable, "-c", EMPTY],
    }
    with tempfile.TemporaryDirectory() as folder:
        # Alternating runs see the same load of a shared machine.
        rounds = [{name: seconds([*command, f"{folder}/{name}-{number}"]) for name, command in commands.items()} for number in range(6)][1:]
    for name in commands:
        print(f"{name}: {', '.join(f'{times[name]:.1f}' for times in rounds)} s")
    best, median = (
        choose(times["night"] for times in rounds) / choose(times["empty"] for times in rounds) for choose in (min, statistics.median)
    )
    print(f"ratio of the best times {best:.1f}, of the medians {median:.1f}")


if __name__ == "__main__":
    main()
