"""Self-tests do not fail because a machine is busy: Hypothesis sets no deadline, as it does in CI anyway."""

from hypothesis import settings

settings.register_profile("crashloop", parent=settings(), deadline=None)
settings.load_profile("crashloop")
