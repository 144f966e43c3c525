"""Exclusions are published, followed, restored and taken over as a part of their subscriptions."""

from __future__ import annotations

from pathlib import Path

import snapshot
from subtrie import MQTT, SubscriptionTrie

TOPICS = ("a", "a/x", "a/secret", "a/secret/key")


def seen(trie: SubscriptionTrie) -> list[tuple[object, ...]]:
    return [trie.match(topic) for topic in TOPICS]


def test_all_who_read_a_directory_have_them_as_its_trie_has(tmp_path: Path) -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("a/#", "log", but=("a/secret/#",), qos=1)
    with snapshot.Publisher(trie, tmp_path) as publisher:
        publisher.publish()
        follower = snapshot.follow(tmp_path)
        assert seen(follower.trie) == seen(trie) == [("log",), ("log",), (), ()]

        trie.subscribe("a/#", "log", but=("a/secret/key", "a/x"))
        publisher.publish()
        follower.poll()
        assert seen(follower.trie) == seen(trie) == [("log",), (), ("log",), ()]

        trie.subscribe("a/#", "log")
        publisher.publish()
        follower.poll()
        assert seen(follower.trie) == seen(trie) == [("log",)] * 4

    assert seen(snapshot.restore(tmp_path, at=1)) == [("log",), ("log",), (), ()]
    follower.trie.check()
    taken, publisher = snapshot.take_over(tmp_path)
    with publisher:
        taken.subscribe("a/#", "log", but=("a/x",))
        publisher.publish()
    assert seen(snapshot.restore(tmp_path)) == [("log",), (), ("log",), ("log",)]
    taken.check()
