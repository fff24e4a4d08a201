"""Evidence channels: each turns one source of facts into events of a history."""
