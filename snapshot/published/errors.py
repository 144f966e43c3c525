"""The errors of published directories. Each message says what to do."""

from __future__ import annotations


class FencedError(RuntimeError):
    """Another publisher has taken over the directory, so this one publishes nothing any more."""


class OutdatedError(FencedError):
    """The trie comes from a version that is not the newest any more: publishing it would undo what came after."""


class DamagedError(ValueError):
    """A file of a published directory differs from what its publisher wrote, or has an unknown format."""


class HistoryError(DamagedError):
    """The history of a directory is not the one that was seen before: it went back to an older copy, or it forked."""


class NotPublishedError(LookupError):
    """There is no such version: not yet, not any more, or never."""
