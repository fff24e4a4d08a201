"""Pictures of docs/findings, drawn from recorded runs; the pages are written by hand."""
