"""Any history of a published directory: whatever is changed, published, taken over, removed, or fails, restored tries
and followers have what the version that they name was published with, and one publisher at most can publish."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import snapshot
from snapshot.published import composer, open_directory, retention
from snapshot.published.restoring import restored
from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie, TopicStore
from tests.snapshot.values import ALIKE, HOPELESS, ODD
from tests.snapshot.world import FAILING, LEFT, PLACES, Content, Party, at_step, content, place

SETS: dict[Dialect, st.SearchStrategy[tuple[str, dict[str, Any]]]] = {
    AMQP: st.tuples(st.sampled_from(["a", "a.*", "#", ""]), st.just({})),
    MQTT: st.tuples(st.sampled_from(["a/+", "$share/g/a/+", "$share/h/a/+"]), st.sampled_from([{}, {"but": ("a/x",)}])),
    Dialect("own", "-", "?", None, forbidden="\0\t"): st.tuples(st.sampled_from(["a", "a-?", "?"]), st.just({})),
    NATS: st.tuples(st.sampled_from(["a", "a.>"]), st.sampled_from([{}, {"queue": "q"}, {"queue": "~r"}])),
}
SHORT = [value for value in ODD if value != 10**6000]  # that has no repr
ALL = [*SHORT, *(each for pair in ALIKE for each in pair), HOPELESS[0], HOPELESS[3]]
SUBSCRIBERS = [1, 2, "s", "t", "1", *(each for each in SHORT if getattr(each, "__hash__", None)), HOPELESS[0]]
OPTIONS = st.dictionaries(st.sampled_from([*"xyz", "~x", "\ud800", "n" * 5000]), st.sampled_from(ALL), max_size=2)
KEEP = st.sampled_from([None, 1, 2, 3, LEFT])
OTHERS = (snapshot.FencedError, snapshot.HistoryError)


def first_letter(subscriber: Any) -> str:
    """A key that several subscribers share. Some have none, or one that is no text."""
    return str(subscriber)[0]


def name_of(one: Any) -> tuple[str, str, str | None]:
    return one.filter, repr(one.subscriber), one.options.get("queue")


def is_storable(one: Subscription) -> bool:
    try:
        snapshot.check_storable(one.subscriber, one.options)
    except (TypeError, ValueError):
        return False
    return True


class Publishing(RuleBasedStateMachine):
    """A directory with a set of some dialect, or with a topic store; small limits, so that versions soon pass them."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.folder = pytest.MonkeyPatch(), Path(tempfile.mkdtemp())
        self.past: list[Party] = []
        self.published: dict[int, Content] = {}
        self.followers: list[snapshot.Follower] = []

    @initialize(
        kind=st.sampled_from(PLACES),
        dialect=st.sampled_from([*SETS, None]),
        keep=KEEP,
        key=st.sampled_from([None, first_letter]),
    )
    def begin(self, kind: str, dialect: Any, keep: Any, key: Any) -> None:
        for name, value in {"FEWEST_FEEDS": 3, "LOOSE_FEEDS": 2, "FEWEST_ROWS": 8}.items():
            self.patch.setattr(composer, name, value)
        self.patch.setattr(retention, "REMOVALS", 3)
        self.where = place(kind, self.folder / "published", self.patch)
        self.dialect, into = dialect, TopicStore[Any](MQTT) if dialect is None else None
        self.key = key if dialect else None
        self.owner = Party(*snapshot.take_over(self.where, dialect or MQTT, into=into, keep=keep, key=self.key))
        self.publish()

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.folder)

    @rule(data=st.data(), rows=st.lists(st.tuples(st.sampled_from(SUBSCRIBERS), OPTIONS, st.booleans()), max_size=4))
    def change(self, data: st.DataObject, rows: list[tuple[Any, dict[str, Any], bool]]) -> None:
        trie = self.owner.trie
        for subscriber, options, goes in rows:
            if self.dialect is None:
                topic, time = (
                    data.draw(st.sampled_from(["a", "a/b", "$share/g"])),
                    data.draw(st.sampled_from([1.5, 2.0])),
                )
                trie.pop(topic, None) if goes else trie.put(topic, options.get("x"), time)
                continue
            filter, own = data.draw(SETS[self.dialect])
            if goes:
                trie.unsubscribe(filter, subscriber, **{name: own[name] for name in own if name == "queue"})
            else:
                trie.subscribe_many([(filter, subscriber, options | own)])

    def expected(self) -> Content:
        """What the owner has, without what cannot be stored; those that share a key with others are among that."""
        trie, refused = self.owner.trie, self.owner.publisher.refused
        if self.dialect is None:
            return {
                name: held for name, held in content(trie).items() if name not in {(one.filter,) for one in refused}
            }
        aside = {name_of(one) for one in refused}
        assert self.key or aside == {name_of(one) for one in trie.subscriptions() if not is_storable(one)}
        held = [one for one in trie.subscriptions() if name_of(one) not in aside]
        named = [(one.filter, self.key(one.subscriber) if self.key else one.subscriber, one.options) for one in held]
        stored = SubscriptionTrie(trie.dialect)
        assert stored.subscribe_many(named) == len(named), "two have one key"
        return content(stored)

    @rule()
    def publish(self) -> None:
        before, version = max(self.published, default=0), self.owner.publisher.publish()
        expected = self.expected()
        is_new = not self.published or expected != self.published[before]
        assert version > before if is_new else version == before or self.changes_of(version) == ("full", 0)
        self.published[version] = expected
        assert self.owner.publisher.version == version

    def changes_of(self, version: int) -> tuple[str, int]:
        """After several claims a full instant is published again, though nothing has changed."""
        return next((one.kind, one.changes) for one in snapshot.versions(self.where) if one.version == version)

    @rule(number=st.integers(1, 20), late=st.booleans())
    def fail(self, number: int, late: bool) -> None:
        """A call of the system fails, and publishing is tried again."""
        before = self.published[max(self.published)]
        full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        with at_step(number, full, calls=FAILING, late=late), contextlib.suppress(OSError):
            self.owner.publisher.publish()
        found = content(snapshot.restore(self.where))
        version = self.owner.publisher.publish()
        assert found in (before, self.expected())
        self.published[version] = self.expected()
        assert content(snapshot.restore(self.where)) == self.published[version]

    @rule(keep=KEEP, how=st.sampled_from(["take over", "go on", "restore", "fork"]))
    def another_publisher(self, keep: Any, how: str) -> None:
        self.past.append(self.owner)
        newest, trie = self.published[max(self.published)], self.owner.trie
        if how == "take over":
            self.owner = Party(*snapshot.take_over(self.where, keep=keep, key=self.key))
            assert content(self.owner.trie) == newest
        else:
            trie = trie if how == "go on" else snapshot.restore(self.where)
            trie = trie.fork() if how == "fork" and self.dialect else trie
            self.owner = Party(trie, snapshot.Publisher(trie, self.where, keep=keep, key=self.key))
        self.publish()

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def an_earlier_publisher_publishes(self, data: st.DataObject) -> None:
        publisher = data.draw(st.sampled_from(self.past)).publisher
        before = sorted(self.folder.rglob("*"))
        with pytest.raises(snapshot.FencedError):
            publisher.publish()
        assert sorted(self.folder.rglob("*")) == before

    @rule()
    def follow(self) -> None:
        self.followers.append(snapshot.follow(self.where, known=self.owner.publisher.mark))

    @rule()
    def poll(self) -> None:
        for follower in self.followers:
            assert follower.poll() == follower.version == max(self.published)
            assert content(follower.trie) == self.published[follower.version]

    @precondition(lambda self: self.followers and self.dialect)
    @rule()
    def somebody_writes_to_a_copy(self) -> None:
        """What is written to the trie of a follower is gone after `resynchronise`."""
        follower = self.followers[-1]
        follower.trie.subscribe("a/x", "mine")
        follower.trie.unsubscribe("a", 1)
        assert follower.resynchronise() == max(self.published)
        assert content(follower.trie) == self.published[follower.version]

    @rule()
    def look_back(self) -> None:
        kept = snapshot.versions(self.where)
        assert len({each.integers for each in kept if each.subscriptions and self.dialect}) <= 2
        for each in kept:
            for at in (each.version, each.time):
                assert content(snapshot.restore(self.where, at, known=kept[0].mark)) == self.published[each.version]
        for gone in [number for number in self.published if number < kept[0].version][-1:]:
            with pytest.raises(snapshot.NotPublishedError, match=f"kept are {kept[0].version}"):
                snapshot.restore(self.where, gone)

    @rule()
    def compact(self) -> None:
        version, directory = snapshot.compact(self.where), open_directory(self.where)
        assert version == directory.parts(directory.version_at()).full.version == max(self.published)

    @rule(net=st.booleans())
    def ask_for_changes(self, net: bool) -> None:
        """They are as many as the two versions differ by, or as the versions say, from the first version on."""
        directory = open_directory(self.where)
        kept = [one for one in directory.versions() if one.version >= (directory.version_at().oldest or 0)]
        since, before = 0, SubscriptionTrie(kept[0].dialect)
        if kept[0].feed is not None:
            since, before = kept[0].version, restored(directory, kept[0].version)[0]
        if {kept[0].integers, kept[-1].integers} != {True, False}:  # else a text may stand for a string and an integer
            kinds = snapshot.changes(self.where, since, net=net).read_all().column("_change_type").to_pylist()
            told = sum(one.changes for one in kept if since < one.version)
            wanted = len(list(restored(directory)[0].diff(before))) if net else told
            assert len(kinds) - kinds.count("update_preimage") == wanted

    @rule(newer=st.integers(0, 3))
    def go_back(self, newer: int) -> None:
        """An older copy takes the place of the directory; nobody takes that for a continuation, until told to."""
        published, copy = self.folder / "published", self.folder / "copy"
        shutil.copytree(published, copy)
        before, self.published = dict(self.published), dict(self.published)
        self.follow()
        while max(self.published) < max(before) + 2:
            self.change_something()
            self.publish()
        self.poll()
        mark, lost = self.owner.publisher.mark, self.owner
        shutil.rmtree(published)
        copy.rename(published)
        self.published = before
        for number in range(newer):
            if not number:
                self.another_publisher(None, "restore")
            self.change_something()
            self.publish()
        self.change_something(lost.trie)
        with pytest.raises(OTHERS):
            lost.publisher.publish()
        for call in (self.followers[-1].poll, lambda: snapshot.restore(self.where, known=mark)):
            with pytest.raises(snapshot.HistoryError):
                call()
        self.another_publisher(None, "restore")
        self.past.clear()
        for follower in self.followers:
            assert follower.resynchronise() == max(self.published)
        self.poll()

    def change_something(self, trie: Any = None) -> None:
        trie = self.owner.trie if trie is None else trie
        if self.dialect is None:
            trie["a"] = os.urandom(4)
        else:
            trie.subscribe("a", "s", n=os.urandom(4))


Publishing.TestCase.settings = settings(stateful_step_count=8)
TestPublishing = pytest.mark.once(Publishing.TestCase)
