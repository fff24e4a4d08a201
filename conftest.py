"""Root of every suite: options and hooks."""

pytest_plugins = ["fixtures.existing", "fixtures.options", "fixtures.run"]
