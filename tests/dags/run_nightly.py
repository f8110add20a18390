"""Run the nightly DAG in this process, without a scheduler: a line of JSON for each snapshot named, with what became of its tasks and assets.

    python -m tests.dags.run_nightly DAGS_FOLDER SNAPSHOT=PATTERN...

Tasks that match the pattern are taken for successful, and the others run for real.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag
from airflow.models.asset import AssetEvent, AssetModel
from airflow.settings import Session
from airflow.utils.db import initdb
from sqlalchemy import select


def main(folder: str, *runs: str) -> None:
    initdb()
    dag = DagBag(dag_folder=folder, bundle_path=Path(folder)).dags["nightly"]
    for run in runs:
        snapshot_id, _, pattern = run.partition("=")
        ended = dag.test(run_conf={"snapshot": snapshot_id}, mark_success_pattern=pattern or None)
        events = select(AssetModel.name, AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        with Session() as session:
            fired = session.execute(events.where(AssetEvent.source_run_id == ended.run_id)).all()
        states = {task.task_id: str(task.state) for task in ended.get_task_instances()}
        print(json.dumps({"state": str(ended.state), "tasks": states, "events": {name: extra for name, extra in fired}}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
