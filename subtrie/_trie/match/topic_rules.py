# distutils: extra_compile_args = SMALL
"""How a text becomes the words of a topic, for those who look topics up or take them apart.

A topic is a filter of a *literal* dialect, one without wildcards. So the plan's fast way for filters splits it. What
that dialect cannot judge is left to the dialect's own method.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import borrow, borrowed
    from subtrie._trie.match.plan import Plan, path_by, split_in_place
    from subtrie._trie.match.walk import Traversal, item_of, size_of

from subtrie.dialects import Dialect, plain_text
from subtrie.errors import TopicError


class TopicRules:
    """How the topics of a dialect are split. Made by `topic_rules`."""

    __slots__ = ("dialect", "literal", "suspect")
    dialect: Dialect
    literal: Plan  # of a dialect whose filters are the topics of this one
    suspect: tuple[str, ...]  # the dialect itself has to check topics that contain one of these


if not cython.compiled:  # borrowed; the compiled ones (topic_rules.pxd) count no reference
    literal_of = attrgetter("literal")
    suspect_of = attrgetter("suspect")


@cache
def topic_rules(dialect: Dialect) -> TopicRules:
    """Return the rules for a dialect."""
    # The literal dialect's wildcard for one word is a character that no topic has, since it is refused: one of ASCII if
    # possible, since such texts are split in place; otherwise a lone surrogate, which is refused everywhere.
    mark = next((c for c in dialect.forbidden if c.isascii()), "\ud800")
    literal = dialect.__replace__(  # type: ignore[attr-defined]
        one_word=mark,
        many_words=None,
        many_min=0,
        many_last=False,
        reserved_prefix=None,
        share_prefix=None,
        queue_groups=False,
        wildcards_in_words=True,
        wildcards_in_topics=True,
        forbidden=dialect.forbidden.replace(mark, ""),
    )
    # The literal dialect takes the mark for a wildcard; this dialect refuses its own wildcards in topics, or does not.
    wild = () if dialect.wildcards_in_topics else (dialect.one_word, dialect.many_words)
    return _new_rules(dialect, Plan(literal, False), (mark, *(word for word in wild if word is not None)))


def _new_rules(dialect: Dialect, literal: Plan, suspect: tuple[str, ...]) -> TopicRules:
    rules: TopicRules = TopicRules.__new__(TopicRules)
    rules.dialect = dialect
    rules.literal = literal
    rules.suspect = suspect
    return rules


def topic_in_place(t: Traversal, rules: TopicRules, topic: Any) -> bool:
    """Put the words of a topic into `t`, to be looked up. False, and size 0: `topic_path` has to look at it."""
    t.size = 0
    return type(topic) is str and not _is_suspect(rules, topic) and split_in_place(t, literal_of(rules), borrow(topic))


def _is_suspect(rules: TopicRules, text: str) -> bool:
    suspect = suspect_of(rules)
    for i in range(size_of(suspect)):  # noqa: SIM110 (a generator holds nothing that is borrowed)
        if borrowed(item_of(suspect, i)) in text:
            return True
    return False


def topic_path(rules: TopicRules, topic: Any) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words of a topic, never none (reading.py on the filter of no words), and their hashes. TopicError if
    it is not a topic, TypeError if it is not a str."""
    text = topic if type(topic) is str else plain_text(topic, "topic")
    if _is_suspect(rules, text):
        rules.dialect.split_topic(text)
    try:
        return path_by(cython.cast(Plan, literal_of(rules)), text)
    except TopicError:
        rules.dialect.split_topic(text)  # its error says what is wrong with the topic
        raise
