"""A tab on the page of each DAG run that shows the run's report.

A DAG writes its report to <Variable topology_reports>/<dag id>/<run id>/index.html (alerts.REPORT). This plugin of the API server serves that
folder to users who may see the run. A report older than the run's newest start is from an earlier attempt and is not shown as its result.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import ClassVar

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models import DagRun, TaskInstance
from airflow.plugins_manager import AirflowPlugin
from airflow.sdk import Variable
from airflow.utils.state import State
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import FileResponse, HTMLResponse, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from dags.alerts import FAILURES
from jobs.report.page import script_source

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>{refresh}
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }}
pre {{ white-space: pre-wrap }}
</style></head><body><h1>{title}</h1>{text}</body></html>
"""
_ONLY_OWN_SCRIPT = f"script-src {script_source()}; object-src 'none'"

app = FastAPI(title="Topology report", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/{dag_id}/{run_id}/{file:path}", dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN))])
def show(dag_id: str, run_id: str, file: str, session: SessionDep) -> Response:
    """Serve a file of the run's report; without a file name, the report's first page or the state of the run."""
    run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    reports = Variable.get("topology_reports", None)
    if run is None or reports is None:
        raise HTTPException(404, f"no run {run_id} of {dag_id}" if run is None else "the Airflow Variable topology_reports is not set")
    # A run id may be "..", and the path of a file may leave the folder.
    folder = (Path(reports) / dag_id / run_id).resolve()
    page = (folder / (file or "index.html")).resolve()
    if folder.parent != (Path(reports) / dag_id).resolve() or not page.is_relative_to(folder):
        raise HTTPException(404, "no such page")
    if not file and not _is_result(page, run):
        return HTMLResponse(_status(run, session, folder), headers={"Cache-Control": "no-store"})
    if not page.is_file():
        raise HTTPException(404, f"no page {file} in this report")
    return FileResponse(page, headers={"Cache-Control": "no-cache", "Content-Security-Policy": _ONLY_OWN_SCRIPT})


def _is_result(page: Path, run: DagRun) -> bool:
    """Return whether the run has ended and wrote the page after its newest start; clearing tasks starts a run again."""
    if run.state not in State.finished_dr_states or run.start_date is None:
        return False
    return page.is_file() and page.stat().st_mtime >= run.start_date.timestamp()


def _status(run: DagRun, session: Session, folder: Path) -> str:
    """Return a page with the state of a run that has no report."""
    ended = run.state in State.finished_dr_states
    task_ids = select(TaskInstance.task_id).where(TaskInstance.dag_id == run.dag_id, TaskInstance.run_id == run.run_id)
    failed = session.scalars(task_ids.where(TaskInstance.state == "failed").order_by(TaskInstance.task_id)).all()
    text = "".join(f"<p><b>{escape(task)}</b> failed.</p><pre>{escape(_failure_text(folder, task))}</pre>" for task in failed)
    if not failed and ended:
        text = "<p>The run has ended and left no report.</p>"
    elif not failed:
        text = "<p>The last task writes the report. This page then shows it without a reload.</p>"
    if (folder / "index.html").exists():
        text += '<p>An earlier attempt of this run wrote <a href="index.html">a report</a>.</p>'
    title = "No report" if ended else "No report yet"
    return _PAGE.format(title=title, text=text, refresh="" if ended else '<meta http-equiv="refresh" content="5">')


def _failure_text(folder: Path, task: str) -> str:
    text = folder / FAILURES / f"{task}.txt"
    return text.read_text(encoding="utf-8") if text.exists() else "The task's log has the reason."


class ReportTab(AirflowPlugin):
    name = "topology_report"
    fastapi_apps: ClassVar = [{"app": app, "url_prefix": "/topology-report", "name": "Topology report"}]
    external_views: ClassVar = [
        {
            "name": "Topology report",
            "href": "topology-report/{DAG_ID}/{RUN_ID}/",  # relative to the URL of the UI
            "destination": "dag_run",
            "url_route": "topology-report",
        }
    ]
