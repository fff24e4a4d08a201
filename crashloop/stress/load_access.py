"""How the load generator reaches an API server: with the kubeconfig of the run, credential plug-ins included.

Each process of the load generator runs the plug-in itself, again once its credential has expired. Nothing that is imported
here may be a module that Locust patches later.
"""

from crashloop.errors import UsageError
from crashloop.kube.credentials import Access
from crashloop.kube.plugin import read_access

_CANNOT = "the load generator cannot use it; conformance runs can."


def load_access(kubeconfig: str, context: str | None = None) -> Access:
    """Raises UsageError for a kubeconfig or a plug-in that cannot be used, a proxy, and another name of the server."""
    access = read_access(kubeconfig, context)
    for field, value in (("proxy-url", access.proxy), ("tls-server-name", access.server_name)):
        if value:
            raise UsageError(f"kubeconfig {kubeconfig}: its cluster has {field} {value!r}; {_CANNOT}")
    return access
