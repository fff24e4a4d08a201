"""Evidence channels: every channel turns one source of facts into events of a history."""
