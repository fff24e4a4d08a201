"""Results and their views: verdicts in, text out. Pure: no clock, no files, no network."""
