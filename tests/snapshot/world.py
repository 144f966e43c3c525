"""A published directory as its parties see it: what each of them does, what was acknowledged, and what must hold then.

A `World` is a directory, or the objects of a store, with publishers that take it over from each other. `at_step` lets
something else happen between two steps of one of them: another party acts, a call fails, or the process is killed.
"""

from __future__ import annotations

import datetime
import itertools
import pkgutil
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import snapshot
from snapshot.published import composer, open_directory
from snapshot.published import store as store_module
from subtrie import NATS, SubscriptionTrie, TopicStore

Content = dict[tuple[Any, ...], str]

OUTSIDE = {"os": ("link", "open", "listdir", "mkdir", "rename"), "obstore": ("put", "get", "head", "list", "list_with_delimiter", "delete")}  # fmt: skip
"""What a store calls: the steps of a publisher or a reader, between which others act."""
FAILING = OUTSIDE | {"os": (*OUTSIDE["os"], "fsync"), composer.__name__: ("write_set", "write_feed", "write_merged")}
"""What may fail, too."""

TICK, LONG = datetime.timedelta(microseconds=1), datetime.timedelta(seconds=0.3)
LEFT = [(TICK, None), (LONG, TICK)]
"""Of versions that are a microsecond old, each is left for a while that has a full instant; and each gets one."""

PLACES = ["directory", *(["objects"] if find_spec("obstore") else [])]


def place(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where nothing has been published: a directory, or a place in an object store, whose client keeps it in files."""
    if kind == "directory":
        return str(path)
    path.mkdir()
    monkeypatch.setattr(store_module, "_local", lambda where: None)  # else `file:` is a directory
    return path.as_uri()


def content(held: Any) -> Content:
    """What a trie or a topic store holds, types and all."""
    if isinstance(held, TopicStore):
        return {(topic,): f"{value!r} {time}" for topic, value, time in held.entries()}
    held.check()
    return {
        (one.filter, repr(one.subscriber), one.options.get("queue")): repr(sorted(one.options.items()))
        for one in held.subscriptions()
    }


@contextmanager
def at_step(
    number: int, do: Callable[[], object], *, calls: dict[str, Any] = OUTSIDE, late: bool = False
) -> Iterator[list[int]]:
    """Do something before step ``number``, or after it if ``late``. Yields the count of steps.

    Args:
        calls: what a step is: the names of functions of each module or class.
    """
    count, is_doing = [0], False

    def stepping(call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal is_doing
            if is_doing:
                return call(*arguments, **named)
            count[0] += 1
            is_doing = is_now = count[0] == number
            try:
                if is_now and not late:
                    do()
                answer = call(*arguments, **named)
                if is_now and late:
                    do()
            finally:
                is_doing = is_doing and not is_now
            return answer

        return step

    with pytest.MonkeyPatch.context() as patch:
        for module, names in calls.items():
            for name in names if module != "obstore" or find_spec("obstore") else ():
                owner = pkgutil.resolve_name(module)
                patch.setattr(owner, name, stepping(getattr(owner, name)))
        yield count


class Party(NamedTuple):
    """Who publishes, or has done so."""

    trie: Any
    publisher: snapshot.Publisher


class World:
    """A directory and who has to do with it. ``owner`` is the party that may publish, as far as is known."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.acknowledged: dict[int, Content] = {}
        self.attempted: list[Content] = []  # what may be published, though nobody was told
        self.parties: list[Party] = []
        self.numbers = itertools.count()
        self.keep: Any = random.choice([3, LEFT])
        self.owner = self.take_over()
        self.publish()
        self.follower = snapshot.follow(where)

    @property
    def newest(self) -> list[Content]:
        """What the newest version may have: what was acknowledged last, or what was attempted since."""
        return [self.acknowledged[max(self.acknowledged)], *self.attempted] if self.acknowledged else [{}]

    def change(self, trie: Any, number: int) -> None:
        """Add a subscription, change one, and remove one."""
        trie.subscribe("last", "s", n=number)
        trie.subscribe("new", f"s{number}", queue="q", n=(number,))
        trie.unsubscribe("new", f"s{number - 3}", queue="q")

    def publish(self, party: Party | None = None) -> None:
        """Publish a change."""
        trie, publisher = party or self.owner
        self.change(trie, next(self.numbers))
        held = content(trie)
        self.attempted.append(held)
        try:
            version = publisher.publish()
        except snapshot.FencedError:
            self.attempted = [each for each in self.attempted if each is not held]
            raise
        assert version not in self.acknowledged, "two publishers have acknowledged one number"
        self.acknowledged[version] = held
        if version == max(self.acknowledged):
            self.attempted.clear()

    def take_over(self, keep: int | None = None) -> Party:
        """Continue the directory. A trie that was to be filled is empty after an error."""
        into = SubscriptionTrie(NATS)
        try:
            self.parties.append(Party(*snapshot.take_over(self.where, NATS, into=into, keep=keep or self.keep)))
        except BaseException:
            assert not len(into)
            raise
        return self.parties[-1]

    def give_to_another(self) -> None:
        """Another party takes over."""
        self.owner = self.take_over()
        assert content(self.owner.trie) in self.newest

    def give_to_another_who_publishes(self) -> None:
        """The same, and publishes."""
        self.give_to_another()
        self.publish()

    def remove_what_was_there(self) -> None:
        """The same, and publishes until nothing is left that was there before."""
        before = max(open_directory(self.where).numbers())
        self.owner = self.take_over(keep=1)
        while min(open_directory(self.where).numbers()) <= before + 1:
            self.publish()

    def reopen(self) -> None:
        """Continue with a trie that was restored before."""
        trie = snapshot.restore(self.where)
        try:
            self.parties.append(Party(trie, snapshot.Publisher(trie, self.where, keep=self.keep)))
        except snapshot.OutdatedError:
            assert content(trie) not in self.newest

    def read(self, read: Callable[[], Any]) -> None:
        """What is read is a version that was the newest at some time of the call."""
        first = max(self.acknowledged)
        found = content(read())
        since = [held for version, held in self.acknowledged.items() if version >= first]
        assert found in [*since, *self.attempted]

    def restore(self) -> None:
        self.read(lambda: snapshot.restore(self.where))

    def follow(self) -> None:
        self.read(lambda: snapshot.follow(self.where).trie)

    def poll(self) -> None:
        def poll() -> Any:
            self.follower.poll()
            return self.follower.trie

        self.read(poll)

    def compact(self) -> None:
        snapshot.compact(self.where)

    def settle(self) -> None:
        """Require that one party can publish, unless one has failed after its claim; that it continues what was
        acknowledged; that all see what it publishes; and that each change is in the feeds once."""
        assert content(snapshot.restore(self.where)) in self.newest
        newest = open_directory(self.where).newest()
        assert newest is not None
        is_left = newest.kind == "claim" or newest.version not in self.acknowledged  # by who has failed, or is dead
        able: list[Party] = []
        for party in self.parties:
            known, before = self.newest, content(party.trie)
            try:
                self.publish(party)
            except snapshot.FencedError:
                continue
            assert before in known, "what was acknowledged is lost"
            able.append(party)
        assert len(able) <= 1
        assert able or is_left
        self.parties = able
        if not able:
            self.give_to_another_who_publishes()
        self.owner = self.parties[0]
        self.require()

    def require(self) -> None:
        """Require that everybody sees the last version."""
        self.follower.poll()
        trie, directory = None, open_directory(self.where)
        oldest = directory.version_at().oldest or 0
        times = [version.time for version in directory.versions()]
        assert times == sorted(set(times))
        numbers = directory.numbers()
        assert [*numbers] == list(range(numbers[0], numbers[-1] + 1)), "there are gaps"
        for version in directory.versions():
            now = snapshot.restore(self.where, version.version)
            assert content(now) == self.acknowledged.get(version.version, content(now))
            if trie is not None and version.version > oldest:
                assert len(list(now.diff(trie))) == version.changes > 0, "a change is there twice, or not"
            trie = now
        assert content(trie) == content(self.follower.trie) == content(self.owner.trie) == self.newest[0]
