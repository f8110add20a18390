"""LeaderEpochFileCache.endOffsetFor and the leader-epoch-checkpoint file that it writes."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.log.file_formats import read_epoch_checkpoint
from kafka_model.log.replication import EpochEntry, end_offset_for

PROGRAMS = {"4.3.1": "LeaderEpochs"}
RECORDED = 500


def case(rng: random.Random) -> dict[str, Any]:
    """Draw 1 to 6 epochs with gaps, and ask about all epochs before, between and after them."""
    epochs, epoch, offset = [], rng.randint(0, 3), rng.choice([0, 0, 100])
    for _ in range(rng.randint(1, 6)):
        epochs.append([epoch, offset])
        epoch += rng.randint(1, 3)
        offset += rng.randint(1, 50)
    return {"epochs": epochs, "log_end_offset": offset + rng.randint(0, 9), "asked": list(range(epoch + 2))}


def answer(case: dict[str, Any], kafka: str) -> list[Any]:
    """List the end offset of each epoch asked, the epochs read back from the file, and the file."""
    epochs = [EpochEntry(*entry) for entry in case["epochs"]]
    text = "".join(["0\n", f"{len(epochs)}\n", *(f"{entry.epoch} {entry.start_offset}\n" for entry in epochs)])
    read = [[entry.epoch, entry.start_offset] for entry in read_epoch_checkpoint(text)]
    return [[end_offset_for(epochs, case["log_end_offset"], epoch) for epoch in case["asked"]], read, text]
