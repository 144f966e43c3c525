"""Published directories: instants of a subscription set as files, in order, for other processes to read.

docs/published-format.md describes the format, which is plain Parquet and JSON. Reading starts with `open_directory`.
"""

from __future__ import annotations

from snapshot.published.compacting import compact
from snapshot.published.delta import to_delta
from snapshot.published.directory import Directory, Parts, open_directory, versions
from snapshot.published.errors import DamagedError, FencedError, HistoryError, NotPublishedError, OutdatedError
from snapshot.published.follower import Follower, follow
from snapshot.published.history import changes
from snapshot.published.manifest import DataFile, Version
from snapshot.published.publisher import Publisher
from snapshot.published.restoring import restore
from snapshot.published.sieve import Refused
from snapshot.published.taking_over import take_over

__all__ = [
    "DamagedError",
    "DataFile",
    "Directory",
    "FencedError",
    "Follower",
    "HistoryError",
    "NotPublishedError",
    "OutdatedError",
    "Parts",
    "Publisher",
    "Refused",
    "Version",
    "changes",
    "compact",
    "follow",
    "open_directory",
    "restore",
    "take_over",
    "to_delta",
    "versions",
]
