"""The Container Runtime Interface as far as it is lied about."""
