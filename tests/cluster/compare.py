"""Live clusters beside the prediction: python -m tests.cluster.compare [orders-eu | payments-us | six | stock-ap]...

Starts the clusters of tests/cluster/stories.py (by default the one of six brokers in three racks), kills, stops and brings back their
brokers as these tell, and holds the state of every partition after every step to what the pipeline predicts from the dump before it. Exits
with 1 if a partition differs. About a minute a scenario, on a machine that has nothing else to do.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster import record

PREDICTIONS = Path(__file__).parents[1] / "jobs" / "test_real_failures.py"


def main(asked: Sequence[str]) -> int:
    """Record into a folder of their own, and run the comparison on it."""
    with tempfile.TemporaryDirectory() as folder:
        record.main(asked or ["six"], Path(folder), Path(folder, "bundled"))
        os.environ["TOPOLOGY_KILLED"] = str(Path(folder, "killed"))
        return pytest.main([str(PREDICTIONS), "-p", "no:cacheprovider"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
