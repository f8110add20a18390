"""
### Delete old nights and their reports, and keep the others quick to read

Weekly: the nights that are older than the newest `keep_nights` published ones are deleted from every table (each cluster's newest stays,
however old), and so are their reports, unless a file of a report changed in the last `vacuum_hours`. The small files of a table's nights
become one each, and files that no version of the last `vacuum_hours` has are removed. Readers may go on reading meanwhile, and a night may be
written.

#### When the task is red
The lake is as whole as before: each table's change is one commit of Delta. The last line of the log says what is wrong. Clear the task; what
was done already is not done twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import DAG, Param

from dags.tasks import maintain, says

with DAG(
    dag_id="maintenance",
    dag_display_name="Lake maintenance",
    description="Delete old nights and their reports; compact the others",
    doc_md=__doc__,
    schedule="0 12 * * 0",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["topology"],
    params={
        "keep_nights": Param(
            400, type="integer", minimum=1, title="Nights to keep", description="The newest so many published nights stay."
        ),
        "vacuum_hours": Param(
            168, type="integer", minimum=24, title="Hours of versions", description="What began so long ago still finds its files."
        ),
    },
    default_args={"retries": 0, "execution_timeout": timedelta(hours=6), "on_failure_callback": says("the lake is as whole as it was")},
) as dag:
    maintain()
