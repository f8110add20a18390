"""How long the bundled snapshot's night takes, from the start of Python to the verdicts, beside an empty Spark session that writes one Delta table.

    python -m tests.benchmarks.night

Both start with the same settings and the same class-data archive; they are run in turn, six times, and the first of each is not counted.
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
        # In turn: a machine that others use too is not as fast in one minute as in the next.
        rounds = [{name: seconds([*command, f"{folder}/{name}-{number}"]) for name, command in commands.items()} for number in range(6)][1:]
    for name in commands:
        print(f"{name}: {', '.join(f'{each[name]:.1f}' for each in rounds)} s")
    best, median = (
        round(of(each["night"] for each in rounds) / of(each["empty"] for each in rounds), 1) for of in (min, statistics.median)
    )
    print(f"ratio of the best {best}, of the medians {median}")


if __name__ == "__main__":
    main()
