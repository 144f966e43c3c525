"""Exclusions: parts of a filter that a subscription does without ("all but").

They are the option `but` of the subscription, a tuple of filters, so everything that carries options carries them:
listings, snapshots, exports, pickles. An entry that has them (`Excepting`, subscribers.py) also holds their words. It
is only found in a filter's Shared (groups.py), where a question asks which subscribers get this message, as it does for
groups. An entry never changes, so filter, options and exclusions of a subscription are replaced at one instant.

Here is what happens before: exclusions are checked, and it is decided whether filters leave a topic outside of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from subtrie.dialects import Dialect, Words

BUT = "but"
MOST = 64  # exclusions of one subscription
EFFORT = 20_000  # steps of one filter by one word, until `leave_a_topic` gives up
_RESERVED = "\0"  # a word that no filter names, but begins with the reserved prefix; "\0" is no word of a dialect
_OTHER = "\0\0"  # a word that no filter names


def checked(dialect: Dialect, filter: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a subscription with its exclusions as a tuple of plain texts, each once, or without them if
    there are none.

    TypeError: they are no tuple or list of texts. TopicError: one is no filter. ValueError: one names a group, or takes
    nothing out of the filter; or they take out all of it; or there are more than MOST.
    """
    given = options[BUT]
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"but takes a tuple of filters, not {given!r}")
    if len(given) > MOST:
        raise ValueError(f"a subscription has at most {MOST} exclusions, not {len(given)}")
    if not given:
        return {name: value for name, value in options.items() if name != BUT}
    filter_words = dialect.unshare(dialect.split_filter(filter))[1]
    for text in given:
        group, words = dialect.unshare(dialect.split_filter(text))
        if group is not None:
            raise ValueError(f"the exclusion {text!r} names a group: exclusions are filters without one")
        if not dialect.overlaps(filter_words, words):
            raise ValueError(f"the exclusion {text!r} takes nothing out of {filter!r}")
    texts = tuple(dict.fromkeys(map(str.__str__, given)))
    if not leave_a_topic(dialect, [filter_words], words_of(dialect, texts)):
        raise ValueError(f"the exclusions {texts!r} take out all of {filter!r}")
    return {**options, BUT: texts}


def words_of(dialect: Dialect, texts: Iterable[str]) -> tuple[Words, ...]:
    """Return the words of each exclusion, which has been checked."""
    return tuple(dialect.split_filter(text) for text in texts)


def leave_a_topic(dialect: Dialect, filters: list[Words], exclusions: Iterable[Words]) -> bool:
    """Return whether some topic is matched by all of these filters and by none of the exclusions.

    The filters are followed together, word by word, from the beginning of all topics at once. Exclusions may be such
    that this takes exponential time; after EFFORT steps the answer is True. Limits of length are ignored.
    """
    every = [_Followed(dialect, words) for words in (*filters, *exclusions)]
    wanted = len(filters)
    start = tuple(one.start() for one in every)
    if dialect.zero_words and _is_left(every, start, wanted):
        return True
    reached: set[tuple[int, ...]] = set()  # after the first word
    pending = [(start, True)]
    effort = 0
    while pending:
        positions, first = pending.pop()
        for word in _next_words(dialect, every, positions, first):
            effort += len(every)
            after = tuple(one.step(at, word, first) for one, at in zip(every, positions, strict=True))
            if not all(after[:wanted]):
                continue
            if effort > EFFORT or _is_left(every, after, wanted):
                return True
            if after not in reached:
                reached.add(after)
                pending.append((after, False))
    return False


class _Followed:
    """A filter that is followed along all topics. How far, is a set of positions among its words, as bits."""

    def __init__(self, dialect: Dialect, words: Words) -> None:
        self.dialect = dialect
        self.words = words
        self.end = 1 << len(words)
        self.starts_wild = bool(words) and dialect.is_wild(words[0])

    def start(self) -> int:
        return self._closed(1)

    def step(self, positions: int, word: str, first: bool) -> int:
        """Return the positions after one more word of the topic."""
        if first and self.starts_wild and (word == _RESERVED or self.dialect.is_reserved((word,))):
            return 0
        after = 0
        for at, part in enumerate(self.words):
            if positions >> at & 1:
                if part == self.dialect.many_words:
                    after |= 1 << at | self.dialect.many_min << at + 1
                elif part in (self.dialect.one_word, word):
                    after |= 1 << at + 1
        return self._closed(after)

    def names(self, positions: int) -> Iterator[str]:
        """Yield the words that it names at these positions."""
        for at, part in enumerate(self.words):
            if positions >> at & 1 and not self.dialect.is_wild(part):
                yield part

    def _closed(self, positions: int) -> int:
        """Add the positions after wildcards that stand for no words."""
        if self.dialect.many_min == 0:
            for at, part in enumerate(self.words):
                if part == self.dialect.many_words and positions >> at & 1:
                    positions |= 1 << at + 1
        return positions


def _is_left(every: list[_Followed], positions: tuple[int, ...], wanted: int) -> bool:
    """Return whether a topic that ends here is matched by the filters, and by no exclusion."""
    ends = [bool(at & one.end) for one, at in zip(every, positions, strict=True)]
    return all(ends[:wanted]) and not any(ends[wanted:])


def _next_words(dialect: Dialect, every: list[_Followed], positions: tuple[int, ...], first: bool) -> Iterator[str]:
    """Yield words that lead to different positions, of all that a topic may have next."""
    yield _OTHER
    if first and dialect.reserved_prefix is not None:
        yield _RESERVED
    yield from dict.fromkeys(word for one, at in zip(every, positions, strict=True) for word in one.names(at))
