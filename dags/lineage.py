"""The tables that each task of a night reads and writes, for OpenLineage.

Airflow asks `NightSubmit` for them only if the provider `apache-airflow-providers-openlineage` is installed and configured. Datasets have
the names that OpenLineage's Spark integration gives to the files of a Delta table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlparse

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from jobs.schema import Table

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset

_OBJECT_STORES = ("s3a", "gs", "abfss")


class NightSubmit(SparkSubmitOperator):
    """A spark-submit of a step, a gate or `publish`; its arguments start with those of the command."""

    @property
    def night_task(self) -> tuple[str, str]:
        """The kind and the name of the task in jobs.night.NIGHT."""
        kind, name, *_ = self.application_args
        return kind, "" if kind == "publish" else name

    def get_openlineage_facets_on_start(self) -> OperatorLineage:
        """Return the tables that the task reads and writes, with their columns. The provider also sends them when the task has ended."""
        # Imported here because parsing a DAG needs neither Spark nor OpenLineage.
        from airflow.providers.openlineage.extractors import OperatorLineage

        from jobs.night import Task, reads, writes

        task = Task(*self.night_task)
        lake = self.application_args[self.application_args.index("--lake") + 1]
        return OperatorLineage(
            inputs=[_dataset(lake, table) for table in reads(task)], outputs=[_dataset(lake, table) for table in writes(task)]
        )


def dataset_name(lake: str, table: str) -> tuple[str, str]:
    """Return OpenLineage's namespace and name of a table of a lake."""
    parsed = urlparse(f"{lake.rstrip('/')}/{table}")
    if parsed.scheme in ("", "file"):
        return "file", parsed.path
    scheme = "s3" if parsed.scheme == "s3a" else parsed.scheme
    return f"{scheme}://{parsed.netloc}", parsed.path.lstrip("/") if parsed.scheme in _OBJECT_STORES else parsed.path


def _dataset(lake: str, table: Table) -> Dataset:
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import documentation_dataset, schema_dataset

    namespace, name = dataset_name(lake, table.name)
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=column.name, type=column.type, description=column.comment)
        for column in table.stored.declared_columns
    ]
    facets = {
        "schema": schema_dataset.SchemaDatasetFacet(fields=fields),
        "documentation": documentation_dataset.DocumentationDatasetFacet(description=table.comment),
    }
    return Dataset(namespace=namespace, name=name, facets=facets)
