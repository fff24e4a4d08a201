"""Views of a stress run."""
