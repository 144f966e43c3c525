"""Published directories that hold what no publisher put there."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import snapshot
from snapshot.published import store
from tests.snapshot.test_published import assert_equal, held_by
from tests.snapshot.test_published_histories import manifest, manifests, published


@pytest.fixture
def soon() -> Iterator[None]:
    """Raise an error if a test takes long, for code that may never end."""

    def late(*_: object) -> None:
        raise AssertionError("it does not end")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 30)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def empty(path: Path) -> None:
    path.touch()


def copied(path: Path) -> None:
    shutil.copy(path.parent / f"{3:020}.json", path)


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


STRAYS = [dangling, loop, fifo, folder, device, empty, copied, large]


@pytest.mark.usefixtures("soon")
class TestStrays:
    @pytest.mark.parametrize("stray", STRAYS)
    @pytest.mark.parametrize("number", [4, 9, 10**15, 10**20 - 1])
    @pytest.mark.parametrize("hinted", [True, False])
    def test_end_in_an_error_or_do_no_harm(
        self, tmp_path: Path, stray: Callable[[Path], None], number: int, hinted: bool
    ) -> None:
        trie, first = published(tmp_path)
        stray(manifest(tmp_path, number))
        if not hinted:
            (tmp_path / "_versions" / "newest").unlink()
        before = manifests(tmp_path)
        for read in (snapshot.restore, lambda where: snapshot.follow(where).trie):
            with contextlib.suppress(snapshot.DamagedError, OSError):
                assert_equal(read(tmp_path), trie)
        for take in (snapshot.take_over, lambda where: snapshot.Publisher(trie, where)):
            with pytest.raises((snapshot.DamagedError, OSError), match=str(number)):
                take(tmp_path)
        assert manifests(tmp_path) == before
        trie.subscribe("b", "bob")
        assert first.publish() == 4, "a healthy publisher goes on"
        assert held_by(snapshot.restore(tmp_path)) == held_by(trie)

    @pytest.mark.parametrize(
        "name", ["".join(chr(0x660 + int(digit)) for digit in f"{7:020}") + ".json", "x.json", " "]
    )
    def test_with_other_names_are_ignored(self, tmp_path: Path, name: str) -> None:
        trie, _ = published(tmp_path)
        (tmp_path / "_versions" / name).touch()
        (tmp_path / "_versions" / "newest").unlink()
        assert_equal(snapshot.restore(tmp_path), trie)
        snapshot.Publisher(trie, tmp_path)

    def test_manifests_that_only_a_listing_has_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        published(tmp_path)
        (tmp_path / "_versions" / "newest").unlink()
        names = store.LocalStore.names
        monkeypatch.setattr(store.LocalStore, "names", lambda self, folder: [*names(self, folder), f"{5:020}.json"])
        with pytest.raises(snapshot.DamagedError, match="is listed, but there is no such file"):
            snapshot.restore(tmp_path)

    @pytest.mark.parametrize("stray", [dangling, loop, fifo, device, empty, large])
    def test_hints_are_replaced(self, tmp_path: Path, stray: Callable[[Path], None]) -> None:
        trie, first = published(tmp_path)
        hint = tmp_path / "_versions" / "newest"
        hint.unlink()
        stray(hint)
        assert_equal(snapshot.restore(tmp_path), trie)
        trie.subscribe("b", "bob")
        first.publish()
        assert hint.read_bytes() == b"%020d" % 4
        assert not hint.is_symlink()
        assert_equal(snapshot.restore(tmp_path), trie)

    @pytest.mark.parametrize("link", [os.symlink, os.link])
    def test_hints_that_are_links_leave_what_they_lead_to(
        self, tmp_path: Path, link: Callable[[Path, Path], None]
    ) -> None:
        trie, first = published(tmp_path / "published")
        precious, hint = tmp_path / "precious", tmp_path / "published" / "_versions" / "newest"
        precious.write_text("precious data of somebody else, 40 chars..")
        hint.unlink()
        link(precious, hint)
        trie.subscribe("b", "bob")
        first.publish()
        assert precious.read_text() == "precious data of somebody else, 40 chars.."
        assert hint.read_bytes() == b"%020d" % 4

    @pytest.mark.parametrize("content", [b"-5", b"9" * 19, b"9" * 100_000, "٣".encode() * 20, b"+0000000000000000003"])
    def test_hints_are_ignored(self, tmp_path: Path, content: bytes) -> None:
        trie, _ = published(tmp_path)
        (tmp_path / "_versions" / "newest").write_bytes(content)
        assert_equal(snapshot.restore(tmp_path), trie)

    @pytest.mark.parametrize("stray", [dangling, loop, fifo, folder, device, empty, large])
    def test_files_are_damage(self, tmp_path: Path, stray: Callable[[Path], None]) -> None:
        trie, first = published(tmp_path)
        feed = snapshot.versions(tmp_path)[2].feed
        assert feed is not None
        (tmp_path / feed.path).unlink()
        stray(tmp_path / feed.path)
        for use in (
            snapshot.restore,
            snapshot.follow,
            snapshot.take_over,
            lambda _: snapshot.Publisher(trie, tmp_path),
        ):
            with pytest.raises((snapshot.DamagedError, OSError)):
                use(tmp_path)
        trie.subscribe("b", "bob")
        assert first.publish() == 4

    def test_claims_are_not_written_without_end(self, tmp_path: Path) -> None:
        trie, first = published(tmp_path)
        shutil.copy(manifest(tmp_path, 3), manifest(tmp_path, 10**15))
        before = len(manifests(tmp_path))
        with pytest.raises(snapshot.DamagedError, match="does not follow the newest version, which is 3"):
            snapshot.Publisher(trie, tmp_path)
        assert len(manifests(tmp_path)) == before
        trie.subscribe("b", "bob")
        first.publish()
