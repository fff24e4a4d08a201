"""How the load generator reaches an API server."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.errors import UsageError
from crashloop.stress.generator import load_access


def kubeconfig(folder: Path, **cluster: Any) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "blue",
        "contexts": [{"name": "blue", "context": {"cluster": "blue", "user": "me"}}],
        "clusters": [{"name": "blue", "cluster": {"server": "https://192.0.2.7:6443", **cluster}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def test_the_address_and_the_header_of_each_request_are_those_of_the_kubeconfig(tmp_path: Path) -> None:
    access = load_access(kubeconfig(tmp_path))
    assert access.server == "https://192.0.2.7:6443"
    assert access.headers() == {"Authorization": "Bearer secret"}


@pytest.mark.parametrize(
    "cluster",
    [{"proxy-url": "http://192.0.2.8"}, {"tls-server-name": "api.example"}],
    ids=lambda each: next(iter(each)),
)
def test_what_the_load_generator_would_ignore_is_refused(tmp_path: Path, cluster: dict[str, str]) -> None:
    ((field, value),) = cluster.items()
    with pytest.raises(UsageError) as refused:
        load_access(kubeconfig(tmp_path, **cluster))
    assert f"its cluster has {field} {value!r}; the load generator cannot use it" in str(refused.value)
