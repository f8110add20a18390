"""A DAG of another team that is scheduled on two of the published tables."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

with DAG(
    "downstream",
    schedule=[Asset.ref(name="topology.failover"), Asset.ref(name="topology.verdict")],
    start_date=datetime(2026, 1, 1),
    is_paused_upon_creation=False,
) as dag:
    EmptyOperator(task_id="read")
