"""Compare live clusters with the prediction: python -m tests.cluster.compare [orders-eu | payments-us | six | stock-ap]...

Starts the clusters of tests/cluster/stories.py (by default the one with six brokers in three racks) and runs their scenarios. After every
step, it compares the state of every partition with what the pipeline predicts from the dump before the step. The exit code is 1 if a partition
differs. A scenario takes about a minute on an idle machine.
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


def main(names: Sequence[str]) -> int:
    """Record the clusters into a temporary folder, and run the comparison on it."""
    with tempfile.TemporaryDirectory() as folder:
        record.main(names or ["six"], Path(folder), Path(folder, "bundled"))
        os.environ["TOPOLOGY_KILLED"] = str(Path(folder, "killed"))
        return pytest.main([str(PREDICTIONS), "-p", "no:cacheprovider"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
