"""Run the nightly DAG in this process, without a scheduler, once for each given snapshot.

    python -m tests.dags.run_nightly DAGS_FOLDER SNAPSHOT=PATTERN...

Tasks that match the pattern are marked successful without running. Each run prints a line of JSON: the state of the run, the state of each
task, the extra of each asset event, and the clusters that the forms suggest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag
from airflow.models.asset import AssetEvent, AssetModel
from airflow.models.variable import Variable
from airflow.settings import Session
from airflow.utils.db import initdb
from sqlalchemy import select


def main(folder: str, *runs: str) -> None:
    initdb()
    dag = DagBag(dag_folder=folder, bundle_path=Path(folder)).dags["nightly"]
    for argument in runs:
        snapshot_id, _, pattern = argument.partition("=")
        run = dag.test(run_conf={"snapshot": snapshot_id}, mark_success_pattern=pattern or None)
        query = select(AssetModel.name, AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        with Session() as session:
            events = session.execute(query.where(AssetEvent.source_run_id == run.run_id)).all()
            clusters = session.scalar(select(Variable).where(Variable.key == "topology_clusters"))
        states = {task.task_id: str(task.state) for task in run.get_task_instances()}
        result = {"state": str(run.state), "tasks": states, "events": {name: extra for name, extra in events}}
        print(json.dumps(result | {"clusters": clusters and json.loads(clusters.val)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
