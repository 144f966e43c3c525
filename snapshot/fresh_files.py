"""The file systems of fsspec without what they remember: each listing and each opened file is asked for anew.

Most of them keep listings, with the sizes and tags of files, for as long as the process lives. A reader would then
never see a file that another process made after the first listing.
"""

from __future__ import annotations

from typing import Any

from snapshot._extras import extra

_FSSpecHandler: Any = extra("pyarrow.fs").FSSpecHandler


def fresh(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path in it.

    Raises:
        ValueError: fsspec does not know the scheme, or the URI asks for copies of files (``simplecache::``), which
            would never change.
        ImportError: the package of this file system is not installed.
    """
    url_to_fs = extra("fsspec.core").url_to_fs
    try:
        # An instance of its own: one that remembers nothing, if it can be told so.
        files, path = url_to_fs(uri, use_listings_cache=False)
    except TypeError:  # an option that its class does not know
        files, path = url_to_fs(uri)
    copies = extra("fsspec.implementations.cached").CachingFileSystem
    if any(isinstance(each, copies) for each in _layers(files)):
        raise ValueError(f"{uri.partition('::')[0]} keeps copies of files, and would never see a new version")
    return extra("pyarrow.fs").PyFileSystem(_FreshHandler(files)), path


def _layers(files: Any) -> list[Any]:
    """A file system, and those that it reads from."""
    found: list[Any] = []
    while files is not None and files not in found:
        found.append(files)
        files = getattr(files, "fs", None)
    return found


class _FreshHandler(_FSSpecHandler):  # type: ignore[misc]
    """Forgets everything before each question."""

    def _forget(self) -> None:
        for each in _layers(self.fs):
            each.invalidate_cache()

    def get_file_info(self, paths: list[str]) -> Any:
        self._forget()
        return super().get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        self._forget()
        return super().get_file_info_selector(selector)

    def open_input_stream(self, path: str) -> Any:
        self._forget()
        return super().open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        self._forget()
        return super().open_input_file(path)
