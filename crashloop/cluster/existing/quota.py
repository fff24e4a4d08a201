"""The number of pods that a namespace's quota still admits."""

from collections.abc import Iterator

from crashloop.cluster.provider import ExistingOptions
from crashloop.errors import UsageError
from crashloop.kube.client import Json, KubeApi

LEAST_PODS = 2
"""A heartbeat and a scenario."""

_COUNTS = ("pods", "count/pods")


def pods_within_quota(api: KubeApi, options: ExistingOptions) -> int:
    """The lower of `max_pods` and the remaining quota of the given namespace. Raises UsageError if that is too low."""
    if options.max_pods < LEAST_PODS:
        raise UsageError(
            f"--max-pods {options.max_pods}: a run needs {LEAST_PODS} pods at least: a heartbeat and a scenario."
        )
    if options.namespace is None:
        return options.max_pods
    path = f"/api/v1/namespaces/{options.namespace}/resourcequotas"
    free = dict(_free(api.call("list the quotas", "GET", path)["items"]))
    tightest = min(free, key=lambda name: free[name], default=None)
    if tightest is not None and free[tightest] < LEAST_PODS:
        raise UsageError(
            f"namespace {options.namespace}: its ResourceQuota {tightest} admits {free[tightest]} more pods; "
            f"a run needs {LEAST_PODS} at least.\nRemove pods from the namespace, or have the quota raised."
        )
    return min((options.max_pods, *free.values()))


def _free(quotas: list[Json]) -> Iterator[tuple[str, int]]:
    for quota in quotas:
        status = quota.get("status", {})
        for key in _COUNTS:
            if key in status.get("hard", {}):
                hard, used = status["hard"][key], status.get("used", {}).get(key, "0")
                yield quota["metadata"]["name"], max(int(hard) - int(used), 0)
