"""The messages of the Container Runtime Interface that lies change."""
