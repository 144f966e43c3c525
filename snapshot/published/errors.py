"""What can be wrong with a published directory, each with what to do about it."""

from __future__ import annotations


class FencedError(RuntimeError):
    """Another publisher has taken over the directory, so that this one publishes nothing any more."""


class DamagedError(ValueError):
    """A file of a published directory is not what its publisher wrote, or not of a format that is known here."""


class NotPublishedError(LookupError):
    """There is no such version: not yet, not any more, or never."""
