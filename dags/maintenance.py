"""
### Delete expired nights, their reports and superseded attempts, and compact the others

Every week: keep the newest `keep_nights` published nights and delete older ones from every table. The newest night of each cluster stays,
however old it is. Of the other nights, attempts that a rerun superseded are deleted. The reports of deleted nights are deleted too, unless
a file of the report changed in the last `vacuum_hours`. The small files of each night are merged into one per table. Files that no table
version of the last `vacuum_hours` uses are removed. Readers can read and a night can be written at the same time.

#### When the task is red
The lake is intact: each change of a table is one Delta commit. The last line of the log states the error. Clear the task; work that was
finished is not repeated.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import DAG, Param

from dags.alerts import on_failure
from dags.tasks import OWNER, maintain

with DAG(
    dag_id="maintenance",
    dag_display_name="Lake maintenance",
    description="Delete expired nights, their reports and superseded attempts; compact the others",
    doc_md=__doc__,
    schedule="0 12 * * 0",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["topology"],
    params={
        "keep_nights": Param(
            400, type="integer", minimum=1, title="Nights to keep", description="Number of the newest published nights to keep."
        ),
        "vacuum_hours": Param(
            168,
            type="integer",
            minimum=24,
            title="Hours of versions",
            description="Runs that began this many hours ago still find their files.",
        ),
    },
    default_args={
        "owner": OWNER,
        "retries": 0,
        "execution_timeout": timedelta(hours=6),
        "on_failure_callback": on_failure("the lake is intact"),
    },
) as dag:
    maintain()
