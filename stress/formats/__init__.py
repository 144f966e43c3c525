"""Histories in files: this package's own format, and those of other tools (`read`)."""
