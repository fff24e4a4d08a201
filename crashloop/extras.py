"""Which extra brings a module that an installation without extras lacks (pyproject.toml)."""

EXTRAS = {
    "run": ("pytest", "xdist", "pytest_timeout", "pytest_kubernetes", "grpc", "google", "cryptography", "pyroute2"),
    "stress": ("locust", "gevent", "geventhttpclient"),
}


def missing(error: ModuleNotFoundError, *, needed_by: str) -> str:
    """What lacks, and how to get it."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if module in modules), None)
    if extra is None:
        return f"Python finds no module {error.name!r}; the installation is incomplete."
    return (
        f"{needed_by} needs {module!r}, which is not installed.\n"
        f"Install the wheel with the extra [{extra}]: docs/troubleshooting.md."
    )
