"""The Data Docs of a night: Great Expectations' pages of every suite and its results, in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from great_expectations.data_context import EphemeralDataContext


def gx_context(folder: str | None) -> EphemeralDataContext:
    """Return a GX context without a project, usage statistics and progress bars, which writes results and pages to the folder, if any."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    def store(name: str) -> dict[str, str]:
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": f"{folder}{name}"}

    defaults = InMemoryStoreBackendDefaults()
    sites = {}
    if folder is not None:
        # Results are files, since the gates of a night run in several processes and the index lists the results of all.
        defaults.stores[defaults.expectations_store_name]["store_backend"] = store("/results/suites")
        defaults.stores[defaults.validation_results_store_name]["store_backend"] = store("/results/validations")
        page, index, renderer = (
            {"module_name": "jobs.gates.page_views", "class_name": name} for name in ("PageView", "IndexView", "IndexRenderer")
        )
        sites = {
            "night": {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": store(""),
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder", "renderer": renderer, "view": index},
                "site_section_builders": {"expectations": {"view": page}, "validations": {"view": page}},
            }
        }
    config = DataContextConfig(
        store_backend_defaults=defaults, data_docs_sites=sites, analytics_enabled=False, progress_bars={"globally": False}
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def build_pages(context: EphemeralDataContext, folder: str, suites: Iterable[str], snapshot_id: str) -> None:
    """Build the pages of these suites and the index, and delete the results of an earlier run of the same gate."""
    with FileLock(f"{folder}/.building"):  # two gates that build the index at once could each miss the pages of the other
        store, newest = context.validation_results_store, {}
        for key in sorted(store.list_keys(), key=lambda key: key.run_id.run_time):
            suite = key.expectation_suite_identifier.name
            if suite in set(suites) and key.run_id.run_name == snapshot_id:
                if suite in newest:
                    store.remove_key(newest[suite])
                newest[suite] = key
        context.build_data_docs(resource_identifiers=[*newest.values(), *(key.expectation_suite_identifier for key in newest.values())])
        shutil.rmtree(f"{folder}/static", ignore_errors=True)  # GX's logos, fonts and styles, 4 MB, which no page loads
