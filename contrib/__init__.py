"""What a user of crashloop does not need: ways around a host or a registry, and packages for other programs."""
