"""What developers of this suite run: coverage of the catalogue, JSON Schemas, the fault matrix, the page of a soak run."""
