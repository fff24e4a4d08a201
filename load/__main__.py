"""Starts Locust as `python -m locust` does. Without its web UI nothing is imported that only that needs: half of its modules."""

import sys
from types import ModuleType

if {"--headless", "--worker"} & set(sys.argv):
    without = ModuleType("locust.web")
    without.WebUI = None  # type: ignore[attr-defined]  # the name is all that locust.env asks for
    sys.modules[without.__name__] = without

from locust.main import main  # after what it would import

main()
