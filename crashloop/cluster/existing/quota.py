"""The number of pods that a namespace's quota still admits."""

from collections.abc import Iterator

from crashloop.cluster.provider import ExistingOptions
from crashloop.errors import UsageError
from crashloop.kube.client import Json, KubeApi

LEAST_PODS = 2
"""A heartbeat and a scenario."""

_COUNTS = ("pods", "count/pods")


def pods_in_quota(api: KubeApi, options: ExistingOptions) -> int | None:
    """The pods that the quota of the given namespace still admits; None without one.

    Raises UsageError if that, or `max_pods`, is too low for any run.
    """
    if options.max_pods < LEAST_PODS:
        raise UsageError(
            f"--max-pods {options.max_pods}: a run needs {LEAST_PODS} pods at least: a heartbeat and a scenario."
        )
    if options.namespace is None:
        return None
    path = f"/api/v1/namespaces/{options.namespace}/resourcequotas"
    free = dict(_free(api.call("list the quotas", "GET", path)["items"]))
    tightest = min(free, key=lambda name: free[name], default=None)
    if tightest is not None and free[tightest] < LEAST_PODS:
        raise UsageError(
            f"namespace {options.namespace}: its ResourceQuota {tightest} admits {free[tightest]} more pods; "
            f"a run needs {LEAST_PODS} at least.\nRemove pods from the namespace, or have the quota raised."
        )
    return min(free.values(), default=None)


def _free(quotas: list[Json]) -> Iterator[tuple[str, int]]:
    for quota in quotas:
        status = quota.get("status", {})
        for key in _COUNTS:
            if key in status.get("hard", {}):
                hard, used = status["hard"][key], status.get("used", {}).get(key, "0")
                yield quota["metadata"]["name"], max(int(hard) - int(used), 0)
