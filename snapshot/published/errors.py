"""The errors of published directories. Each message says what to do."""

from __future__ import annotations


class FencedError(RuntimeError):
    """Another publisher has taken over the directory, so this one publishes nothing any more."""


class DamagedError(ValueError):
    """A file of a published directory differs from what its publisher wrote, or has an unknown format."""


class NotPublishedError(LookupError):
    """There is no such version: not yet, not any more, or never."""
