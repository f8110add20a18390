"""How long the bundled snapshot's night takes, from the start of Python to the verdicts, beside an empty Spark session that writes one Delta table.

    python -m tests.benchmarks.night

Both start with the same settings and the same class-data archive; each is the best of three, and the first of each is not counted.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

EMPTY = "import sys; from jobs.session import session; session().range(10).write.format('delta').save(sys.argv[1])"


def seconds(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in {
            "night": [str(Path(sys.executable).with_name("topology-audit")), "nightly", "--snapshot", "2026-01-01", "--lake"],
            "empty": [sys.executable, "-c", EMPTY],
        }.items():
            times = [seconds([*command, f"{folder}/{name}-{number}"]) for number in range(4)]
            best[name] = min(times[1:])
            print(f"{name}: {', '.join(f'{each:.1f}' for each in times)} s")
    print(f"ratio {best['night'] / best['empty']:.1f}")


if __name__ == "__main__":
    main()
