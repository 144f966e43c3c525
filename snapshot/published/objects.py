"""Published directories in object stores: the operations of `LocalStore`, by requests that may be repeated.

All rests on one request: create an object if there is none of this name. It may fail without an answer, and may have
been carried out nevertheless, or be carried out later. So whoever gets no answer, or the answer that there is such an
object, reads what stands there: if it is what was to be written, the request was carried out.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from snapshot._extras import extra
from snapshot.paths import without_secrets
from snapshot.published.errors import DamagedError
from snapshot.turns import this_process

Made = TypeVar("Made")

ATTEMPTS: Final = 4
"""How often an object is created before its creator gives up, not knowing whether it is there."""

RANGE_BYTES: Final = 4 * 1024 * 1024
"""How many bytes of a large object are read at a time."""

ALIASES: Final = {"endpoint_override": "endpoint", "access_key": "access_key_id", "secret_key": "secret_access_key"}
"""Names of Arrow's for what obstore calls otherwise."""

OTHERS: Final = ("scheme", "allow_bucket_creation")
"""Parts of Arrow's URIs that say nothing here."""


_asking: dict[str, object] = {}
"""The process that asked obstore first, of this one and its parents."""


class Place(str):
    """The URI of an object store, with what its client needs to know, for other processes. Only the URI is shown."""

    storage: Mapping[str, Any] | None = None


def place_of(uri: str, storage: Mapping[str, Any] | None) -> Place:
    """A URI with its ``storage``; or, for None, with what it has."""
    place = Place(uri)
    place.storage = getattr(uri, "storage", None) if storage is None else dict(storage)
    return place


class ObjectStore:
    """Objects below a URI: ``s3://``, ``gs://``, ``az://``, and what else obstore knows. `place` is what messages show.

    Args:
        uri: where. What follows its question mark belongs to ``storage``.
        storage: what `obstore.store.from_url` takes: endpoint, region, credentials, ``client_options``, and so on.
    """

    is_local = False

    def __init__(self, uri: str, storage: Mapping[str, Any] | None = None) -> None:
        given = place_of(uri, storage)
        base, mark, query = given.partition("?")
        parts = urlsplit(base)
        options: dict[str, Any] = {ALIASES.get(name, name): text for name, text in parse_qsl(query)}
        if parts.username and parts.password:
            options |= {"access_key_id": parts.username, "secret_access_key": parts.password}
        options = {name: value for name, value in options.items() if name not in OTHERS} | dict(given.storage or {})
        if str(options.get("endpoint", "")).startswith("http:"):
            options["client_options"] = {"allow_http": True, **options.get("client_options", {})}
        self.uri = place_of(base.rstrip("/") + mark + query, given.storage)
        self.place = without_secrets(uri).rstrip("/")
        self.ahead: dict[str, bytes] = {}  # got before it is needed, for one `read` of each
        place = f"{parts.scheme.replace('s3n', 's3')}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
        self._obs, self._errors = extra("obstore"), extra("obstore.exceptions")
        try:
            self._store = extra("obstore.store").from_url(place, **options)
        except (self._errors.BaseError, ValueError, TypeError) as error:
            raise ValueError(f"{self.place}: obstore has no such store: {_first_line(error)}") from error

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Turn errors of obstore into those of files.

        Raises:
            RuntimeError: a parent of this process has asked obstore before. Its threads are not here, so it would hang.
        """
        if _asking.setdefault("first", this_process()) is not this_process():
            raise RuntimeError(f"{self.place}: a child of fork cannot use the parent's client: start it with 'spawn'")
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.locate(name)) from error
        except (self._errors.PermissionDeniedError, self._errors.UnauthenticatedError) as error:
            raise PermissionError(errno.EACCES, f"the store refuses this: {_first_line(error)}", self.place) from error
        except self._errors.BaseError as error:
            raise OSError(errno.EIO, _first_line(error), self.locate(name)) from error

    # ---------------------------------------------------------------------------------------------------- for readers

    def read(self, name: str, most: int | None = None) -> bytes:
        """The content of an object."""
        if (ahead := self.ahead.pop(name, None)) is not None:
            return ahead
        with self._named(name):
            found = self._obs.get(self._store, name)
            if most is not None and found.meta["size"] > most:
                raise DamagedError(f"{self.locate(name)} is damaged: it has more than {most} bytes")
            return bytes(found.bytes())

    def open(self, name: str) -> Any:
        """Open an object for random access."""
        with self._named(name):
            size = self._obs.head(self._store, name)["size"]
        return io.BufferedReader(_Ranges(self, name, size), RANGE_BYTES)

    def range(self, name: str, start: int, end: int) -> bytes:
        """Some bytes of an object."""
        with self._named(name):
            return bytes(self._obs.get_range(self._store, name, start=start, end=end))

    def locate(self, name: str) -> str:
        """The URI of an object, for messages."""
        return f"{self.place}/{name}"

    def names(self, folder: str) -> list[str]:
        """The names of the objects and folders in a folder."""
        with self._named(folder):
            found = self._obs.list_with_delimiter(self._store, prefix=folder or None)
        paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    def listed(self, name: str) -> list[dict[str, Any]]:
        """What a listing says of the objects of a folder, from one on, in their order: their paths, tags and times. A
        change of an object changes what is said of it. Some stores list from the first on, or in any order."""
        folder, _, file = name.rpartition("/")
        with self._named(folder):
            listed = self._obs.list(self._store, prefix=folder, offset=f"{folder}/{file[:-1]}", chunk_size=1000)
            found = (each for some in listed for each in some if each["path"] >= name)
            return sorted(found, key=lambda each: str(each["path"]))

    # ------------------------------------------------------------------------------------------------- for publishers

    def create(self, name: str, content: bytes, scratch: str) -> None:
        """Create an object. FileExistsError if there is another one. After any other error, it may appear later."""
        there = FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.locate(name))
        unknown: OSError = there
        for _ in range(ATTEMPTS):
            try:
                with self._named(name):
                    try:
                        self._obs.put(self._store, name, content, mode="create")
                    except (self._errors.AlreadyExistsError, self._errors.PreconditionError):
                        raise there from None
                return
            except FileNotFoundError:
                raise
            except OSError as error:
                unknown = error
            try:
                is_there = self.read(name) == content
            except OSError:  # it is not there, after a conflict with one that failed, or that is not known either
                continue
            if is_there:
                return
            raise there
        raise unknown

    def produce(self, name: str, make: Callable[[str], Made]) -> tuple[Made, int, str]:
        """Let `make` write a file, and write that as an object under a name that nothing else uses."""
        from snapshot.published.store import LocalStore

        with TemporaryDirectory(prefix="subtrie-") as folder:
            made, size, digest = LocalStore(Path(folder)).produce("file", make)
            with self._named(name):
                self._obs.put(self._store, name, Path(folder, "file"))
        return made, size, digest

    def make_durable(self, folder: str) -> None:
        """Do nothing: an object that is there is durable."""

    def remove(self, name: str) -> None:
        """Remove an object if it exists."""
        with self._named(name), contextlib.suppress(FileNotFoundError):
            self._obs.delete(self._store, name)

    def prepare(self, folders: tuple[str, ...]) -> None:
        """Do nothing: there are no folders."""

    add_folder = clear_folder = make_durable

    def set_aside(self, name: str) -> bool:
        """Objects cannot be renamed."""
        return False

    def attempt(self, name: str) -> None:
        """Write an object and remove it again.

        Raises:
            OSError: it cannot be written, read, listed or removed.
        """
        try:
            self.create(name, b"trial", "")
            with contextlib.suppress(FileNotFoundError):  # another publisher has removed it, with what others left
                self.read(name)
            self.names(name.rpartition("/")[0])
        except FileNotFoundError as error:
            raise OSError(errno.ENOENT, "there is no such bucket, or no right to see it", self.place) from error
        finally:
            self.remove(name)


class _Ranges(io.RawIOBase):
    """An object that is read by ranges."""

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        self._store, self._name, self._size, self._at = store, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        found = self._store.range(self._name, self._at, end)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
