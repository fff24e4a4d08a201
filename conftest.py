"""Root of every suite: options and hooks."""

pytest_plugins = ["fixtures.options", "fixtures.run"]
