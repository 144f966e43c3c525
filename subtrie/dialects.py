"""Dialects: how a topic and a topic filter are written, checked and compared in AMQP, MQTT and NATS.

A dialect is plain data (:class:`Dialect`), so users can define their own. Its methods turn text into words and refuse
what the dialect does not allow. They also define the meaning of filters: which topics they match
(:meth:`Dialect.matches`), whether two of them share a topic (:meth:`Dialect.overlaps`) and whether one covers another
(:meth:`Dialect.subsumes`). These three are the reference for every matcher of this package: short, exact, and
polynomial for any number of wildcards.

A filter may have two kinds of wild words. *One word* (``*`` or ``+``) stands for exactly one word of a topic, *many
words* (``#`` or ``>``) for any number of words, at least ``many_min``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from subtrie.errors import TopicError

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from subtrie._trie.frozen_dataclass import dataclass

Words: TypeAlias = tuple[str, ...]


class _Pattern:
    """A filter in a normal form, in which runs of wild words with the same meaning look the same.

    Every run of wild words becomes the number of words that it needs at least and, if the run has no upper limit, room
    for more: ``*.#``, ``#.*`` and ``#.*.#`` are all "one word and room for more".
    """

    __slots__ = ("elastic", "room", "words")

    def __init__(self) -> None:
        self.words: list[str | None] = []
        """The words needed, in order; None stands for any word."""
        self.room: set[int] = set()
        """Positions between the needed words (0 is before the first) that have room for any number of further words."""
        self.elastic: set[int] = set()
        """Positions inside or at an edge of a run without an upper limit."""

    def starts_wild(self) -> bool:
        return 0 in self.room or (bool(self.words) and self.words[0] is None)

    def first_word(self) -> str | None:
        """Return the word with which all topics of this filter begin, or None if they differ."""
        return None if 0 in self.room or not self.words else self.words[0]


@dataclass(frozen=True, repr=False)
class Dialect:
    """The rules of one family of brokers, as data. If a derived class splits texts in its own way, its methods are
    called for every text, which takes many times as long.

    Args:
        name: its name in messages.
        separator: the character between two words.
        one_word: the word that stands for exactly one word.
        many_words: the word that stands for any number of words, or None if the dialect has none.
        many_min: the least number of words that ``many_words`` stands for: 0 or 1.
        many_last: whether ``many_words`` is allowed as the last word only.
        reserved_prefix: topics whose first word begins with this are not matched by a filter whose first word is wild;
            or None.
        share_prefix: the first word of a shared subscription, ``share_prefix/group/filter``; or None.
        queue_groups: whether the option ``queue`` of a subscription names a group, of which one member gets each
            message.
        zero_words: whether the empty text is a topic, and a filter, of zero words (otherwise it is refused).
        empty_words: whether a word may be empty, like the second one of ``a..b``.
        wildcards_in_words: whether a wildcard inside a longer word is an ordinary character (otherwise it is refused).
        wildcards_in_topics: whether a word of a topic that looks like a wildcard is an ordinary word (otherwise it is
            refused).
        forbidden: characters that are always refused; lone surrogates are refused in any case.
        max_bytes: longest topic and filter, in bytes of UTF-8.
        max_words: most words of a topic and of a filter.
        max_wildcards: most wild words of a filter.
        options: the options of a subscription that the dialect defines, as (name, values): a type, or a range or tuple
            of the allowed values. None means that the option is not given. Any other value is refused, and so is a name
            that is almost one of these; all other names are free.

    Raises:
        ValueError: if these contradict each other, or an option is declared in another way.

    >>> AMQP.matches(AMQP.split_filter("*.stock.#"), AMQP.split_topic("eur.stock.db"))
    True
    >>> paths = Dialect("paths", separator="/", one_word="*", many_words="**", zero_words=True)
    >>> paths.matches(paths.split_filter("**/log/*"), paths.split_topic("var/log/syslog"))
    True
    """

    name: str
    separator: str
    one_word: str
    many_words: str | None
    many_min: int = 0
    many_last: bool = False
    reserved_prefix: str | None = None
    share_prefix: str | None = None
    queue_groups: bool = False
    zero_words: bool = False
    empty_words: bool = True
    wildcards_in_words: bool = True
    wildcards_in_topics: bool = True
    forbidden: str = "\0"
    max_bytes: int = 65_535
    max_words: int = 256
    max_wildcards: int = 128
    options: tuple[tuple[str, type | range | tuple[Any, ...]], ...] = ()

    def __repr__(self) -> str:
        """The name of a dialect of this module, which keeps signatures short; else all fields."""
        if self in (AMQP, MQTT, NATS):
            return self.name
        from dataclasses import fields  # not needed by whoever has one of the dialects of this module

        all_fields = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self))
        return f"{type(self).__name__}({all_fields})"

    def __post_init__(self) -> None:
        if len(self.separator) != 1:
            raise ValueError(f"the separator must be one character, not {self.separator!r}")
        for wildcard in self._wildcards:
            if not wildcard or self.separator in wildcard:
                raise ValueError(f"a wildcard must be a word of its own, not {wildcard!r}")
        if self.share_prefix is not None and (
            not self.share_prefix or self.separator in self.share_prefix or self.is_wild(self.share_prefix)
        ):
            raise ValueError(f"share_prefix must be an ordinary word of its own, not {self.share_prefix!r}")
        if self.reserved_prefix == "":
            raise ValueError("reserved_prefix must be a text of one character or more, or None")
        for character in self.forbidden:
            if character in (self.separator, *"".join(self._wildcards)):
                raise ValueError(f"{character!r} is forbidden, and a separator or in a wildcard")
        if self.one_word == self.many_words:
            raise ValueError(f"one_word and many_words must differ, both are {self.one_word!r}")
        if self.share_prefix is not None and self.queue_groups:
            raise ValueError(
                "groups are named by the filter or by an option: share_prefix and queue_groups exclude each other"
            )
        if self.many_min not in (0, 1):
            raise ValueError(f"many_min must be 0 or 1, not {self.many_min!r}")
        if self.max_bytes < 1 or self.max_words < 1 or self.max_wildcards < 0:
            raise ValueError("max_bytes and max_words must be at least 1, max_wildcards at least 0")
        if self.max_bytes > sys.maxsize:
            raise ValueError(f"max_bytes must be at most {sys.maxsize}, not {self.max_bytes}")
        if not isinstance(self.options, tuple):
            raise ValueError(f"options must be a tuple of (name, values) pairs, not {self.options!r}")
        for option in self.options:
            _check_declared(option)

    # Text to words ----------------------------------------------------------------------------------------

    def split_filter(self, text: str) -> Words:
        """Split a topic filter into words. A text that is not a filter is refused.

        A shared subscription keeps its first two words, see :meth:`unshare`.

        Args:
            text: the filter.

        Returns:
            Its words; none for the empty text if ``zero_words`` is set.

        Raises:
            TopicError: naming the fault and its position.
            TypeError: if ``text`` is not a str.

        Complexity: O(len(text)).

        >>> MQTT.split_filter("sensors/+/#")
        ('sensors', '+', '#')
        >>> MQTT.split_filter("sensors/#/heat")
        Traceback (most recent call last):
            ...
        subtrie.errors.TopicError: '#' is not the last word at character 8 of 'sensors/#/heat'
        """
        text = plain_text(text, "filter")
        words = self._split(text, "filter")
        if words and words[0] == self.share_prefix:
            self._check_share(text, words)
        if any(wildcard in text for wildcard in self._wildcards):
            self._check_wildcards(text, words)
        return words

    def split_topic(self, text: str) -> Words:
        """Split a topic into words. A text that is not a topic is refused.

        Args:
            text: the topic.

        Returns:
            Its words; none for the empty text if ``zero_words`` is set.

        Raises:
            TopicError: naming the fault and its position.
            TypeError: if ``text`` is not a str.

        Complexity: O(len(text)).

        >>> AMQP.split_topic("usd.stock..db")
        ('usd', 'stock', '', 'db')
        >>> NATS.split_topic("usd.stock..db")
        Traceback (most recent call last):
            ...
        subtrie.errors.TopicError: empty word at character 10 of 'usd.stock..db'
        """
        text = plain_text(text, "topic")
        words = self._split(text, "topic")
        if not self.wildcards_in_topics and any(wildcard in text for wildcard in self._wildcards):
            for position, word in self._positions(words):
                if self.is_wild(word):
                    raise TopicError(text, position, f"wildcard {word!r} in a topic")
                self._check_inside(text, position, word)
        return words

    def join(self, words: Sequence[str]) -> str:
        """Return the text of ``words``: ``join(split_filter(text)) == text``, and the same for topics.

        >>> AMQP.join(("a", "*", "b"))
        'a.*.b'
        """
        return self.separator.join(words)

    def is_wild(self, word: str) -> bool:
        """Return whether ``word`` is a wildcard in a filter.

        >>> NATS.is_wild(">"), NATS.is_wild(">>")
        (True, False)
        """
        return word == self.one_word or word == self.many_words

    def is_reserved(self, topic_words: Words) -> bool:
        """Return whether a topic is not matched by filters whose first word is wild.

        >>> MQTT.is_reserved(("$SYS", "load")), AMQP.is_reserved(("$SYS", "load"))
        (True, False)
        """
        return bool(topic_words) and self._reserves(topic_words[0])

    def unshare(self, filter_words: Words) -> tuple[str | None, Words]:
        """Split the filter of a shared subscription into its group and the filter behind it.

        Any other filter has the group None.

        >>> MQTT.unshare(("$share", "workers", "jobs", "#"))
        ('workers', ('jobs', '#'))
        >>> MQTT.unshare(("jobs", "#"))
        (None, ('jobs', '#'))
        """
        if self.share_prefix is not None and len(filter_words) > 2 and filter_words[0] == self.share_prefix:
            return filter_words[1], filter_words[2:]
        return None, filter_words

    def share(self, group: str, filter_words: Words) -> Words:
        """Return the words of the shared subscription of a group: the inverse of :meth:`unshare`.

        In a dialect whose groups are named by an option, a member's filter is an ordinary one.

        >>> MQTT.share("workers", ("jobs", "#"))
        ('$share', 'workers', 'jobs', '#')
        """
        return filter_words if self.share_prefix is None else (self.share_prefix, group, *filter_words)

    def check_queue(self, name: str) -> None:
        """Refuse a text that is not the name of a queue group. A name has the characters and the length of a topic;
        separators and wildcards are ordinary characters in it.

        Raises:
            TopicError: naming the fault and its position.
            TypeError: if ``name`` is not a str, or the dialect has no queue groups.

        >>> NATS.check_queue("two words")
        Traceback (most recent call last):
            ...
        subtrie.errors.TopicError: forbidden character ' ' at character 3 of 'two words'
        """
        if not self.queue_groups:
            raise TypeError(f"{self.name} has no queue groups")
        name = plain_text(name, "name of a queue group")
        self._check_characters(name)
        if not name:
            raise TopicError(name, 0, "empty name of a queue group")

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse options of a subscription that are a mistake in this dialect: with a wrong value, or misspelt.

        Raises:
            TypeError: if a value is of the wrong type, or a name is almost one that the dialect defines, or `but`.
            ValueError: if a value is not one of those allowed.

        Complexity: O(number of options).

        >>> MQTT.check_options({"qos": 1, "colour": "red"})
        >>> MQTT.check_options({"qos": 3})
        Traceback (most recent call last):
            ...
        ValueError: the option qos of MQTT is one of 0, 1, 2, not 3
        >>> NATS.check_options({"qeue": "workers"})
        Traceback (most recent call last):
            ...
        TypeError: NATS knows no option qeue; did you mean queue?
        >>> AMQP.check_options({"butt": ("a.secret",)})
        Traceback (most recent call last):
            ...
        TypeError: AMQP knows no option butt; did you mean but?
        """
        known = self._declared
        for name, value in options.items():
            allowed = known.get(name)
            if allowed is None:
                check_free_option(self.name, name, value, tuple(known))
            elif value is not None and not _is_among(value, allowed):  # None means: not given
                raise self._refusal(name, value, allowed)

    # What filters mean ------------------------------------------------------------------------------------

    def matches(self, filter: Words | str, topic: Words | str) -> bool:
        """Return whether a filter matches a topic, each given as a text or as its words.

        The filter of a shared subscription matches what the filter behind its group matches.

        Raises:
            TopicError: A text is refused by the dialect.

        Complexity: O(words of the filter x words of the topic), for any wildcards.

        >>> AMQP.matches(("#", "b", "#"), ("a", "b"))
        True
        >>> MQTT.matches("room/+", "room/12")
        True
        """
        filter_words = self.unshare(self._filter_words(filter))[1]
        topic_words = self.split_topic(topic) if isinstance(topic, str) else topic
        if self.is_reserved(topic_words) and filter_words and self.is_wild(filter_words[0]):
            return False
        if self.many_words not in filter_words:
            one = self.one_word
            pairs = zip(filter_words, topic_words, strict=False)
            return len(filter_words) == len(topic_words) and all(a in (one, b) for a, b in pairs)
        # matched[n]: the filter's words so far match the first n words of the topic.
        matched = [True] + [False] * len(topic_words)
        for word in filter_words:
            if word == self.many_words:
                first = matched.index(True) if True in matched else len(matched)
                matched = [n >= first + self.many_min for n in range(len(matched))]
            else:
                matched = [False] + [
                    before and word in (self.one_word, topic_word)
                    for before, topic_word in zip(matched, topic_words, strict=False)
                ]
        return matched[-1]

    def overlaps(self, a: Words | str, b: Words | str) -> bool:
        """Return whether some topic is matched by both filters, given as texts or as words.

        Limits of length are ignored. Of a shared subscription, the part after the group counts.

        Complexity: O(words of ``a`` x words of ``b``).

        >>> NATS.overlaps(("foo", "*"), ("*", "bar"))
        True
        """
        first, second = self._pattern(self._filter_words(a)), self._pattern(self._filter_words(b))
        if self._kept_apart(first, second) or self._kept_apart(second, first):
            return False
        reached = {(0, 0)}
        pending = [(0, 0)]
        while pending:
            for both in _after_a_common_word(first, second, *pending.pop()):
                if both not in reached:
                    reached.add(both)
                    pending.append(both)
        return (len(first.words), len(second.words)) in reached

    def subsumes(self, wide: Words | str, narrow: Words | str) -> bool:
        """Return whether ``wide`` matches every topic that ``narrow`` matches, given as texts or as words.

        Limits of length are ignored. Of a shared subscription, the part after the group counts.

        Complexity: O(words of ``wide`` x words of ``narrow``).

        >>> AMQP.subsumes(("forex", "*"), ("forex", "eur"))
        True
        >>> AMQP.subsumes(("#", "*"), ("*", "#"))
        True
        """
        cover, covered = self._pattern(self._filter_words(wide)), self._pattern(self._filter_words(narrow))
        if self._kept_apart(cover, covered):
            return False
        # There are infinitely many words. So a wild word in `narrow` stands for words that `wide` does not name, and
        # room in `narrow` stands for more words than `wide` needs anywhere. The former is covered only by wild words,
        # the latter only by a run without an upper limit. Within such a run it does not matter which words are the
        # needed ones, so one walk along `narrow` decides.
        positions = {0}
        for position, word in enumerate([*covered.words, None]):
            if position in covered.room:
                positions &= cover.elastic
            if position < len(covered.words):
                positions = {after for before in positions for after in _after_word(cover, before, word)}
        return len(cover.words) in positions

    def _filter_words(self, filter: Words | str) -> Words:
        return self.split_filter(filter) if isinstance(filter, str) else filter

    @cached_property
    def _declared(self) -> dict[str, Any]:
        return dict(self.options)

    def _refusal(self, name: str, value: Any, allowed: type | range | tuple[Any, ...]) -> Exception:
        if isinstance(allowed, tuple):
            kinds, listed = list(dict.fromkeys(map(type, allowed))), "one of " + ", ".join(map(str, allowed))
        elif isinstance(allowed, type):
            kinds, listed = [allowed], ""
        else:  # a range may have millions of values
            few = len(allowed) <= 10
            kinds = [int]
            listed = "one of " + ", ".join(map(str, allowed)) if few else f"from {allowed[0]} to {allowed[-1]}"
        if any(_is_of(value, kind) for kind in kinds):
            return ValueError(f"the option {name} of {self.name} is {listed}, not {value!r}")
        listed = " or ".join(f"{'an' if kind.__name__[0] in 'aeiou' else 'a'} {kind.__name__}" for kind in kinds)
        return TypeError(f"the option {name} of {self.name} is {listed}, not {value!r}")

    # How it is done ---------------------------------------------------------------------------------------

    @cached_property
    def _wildcards(self) -> Words:
        return (self.one_word,) if self.many_words is None else (self.one_word, self.many_words)

    def _reserves(self, word: str | None) -> bool:
        return self.reserved_prefix is not None and word is not None and word.startswith(self.reserved_prefix)

    def _kept_apart(self, wild: _Pattern, literal: _Pattern) -> bool:
        """Return whether a filter that starts wild misses all topics of the other one because these are reserved."""
        return wild.starts_wild() and self._reserves(literal.first_word())

    def _pattern(self, filter_words: Words) -> _Pattern:
        pattern = _Pattern()
        filter_words = self.unshare(filter_words)[1]
        for is_run, run in groupby(filter_words, self.is_wild):
            if is_run:
                self._add_run(pattern, list(run))
            else:
                pattern.words.extend(run)
        if self._needs_a_first_word(pattern):
            return self._pattern((self.one_word, *filter_words))
        return pattern

    def _add_run(self, pattern: _Pattern, run: list[str]) -> None:
        start = len(pattern.words)
        unbounded = self.many_words in run
        least = sum(self.many_min if word == self.many_words else 1 for word in run)
        pattern.words.extend([None] * least)
        if unbounded:
            pattern.room.add(start + least)
            pattern.elastic.update(range(start, start + least + 1))

    def _needs_a_first_word(self, pattern: _Pattern) -> bool:
        """Return whether the room before the first needed word cannot stay empty.

        It cannot if no topic has zero words, or if the next word is a reserved one, since a filter that starts wild
        does not match topics that begin with it.
        """
        if 0 not in pattern.room:
            return False
        return self._reserves(pattern.words[0]) if pattern.words else not self.zero_words

    def _split(self, text: str, kind: str) -> Words:
        """Check the rules that topics and filters share, and split."""
        self._check_characters(text)
        if not text:
            if not self.zero_words:
                raise TopicError(text, 0, f"empty {kind}")
            return ()
        if text.count(self.separator) >= self.max_words:
            position = self._start_of_word(text, self.max_words)
            raise TopicError(text, position, f"more than {self.max_words} words")
        words = tuple(text.split(self.separator))
        if not self.empty_words and "" in words:
            raise TopicError(text, self._start_of_word(text, words.index("")), "empty word")
        return words

    def _check_characters(self, text: str) -> None:
        # A character has at least one byte, so a hostile length is refused before the text is processed.
        shown = text[: self.max_bytes + 1]
        try:
            encoded = shown if shown.isascii() else shown.encode()
        except UnicodeEncodeError as error:
            raise TopicError(text, error.start, "lone surrogate") from None
        if len(encoded) > self.max_bytes:
            fitting = shown.encode()[: self.max_bytes].decode(errors="ignore")
            raise TopicError(text, len(fitting), f"longer than {self.max_bytes} bytes")
        for character in self.forbidden:
            if character in text:
                raise TopicError(text, text.index(character), f"forbidden character {character!r}")

    def _start_of_word(self, text: str, index: int) -> int:
        return sum(len(word) + 1 for word in text.split(self.separator, index)[:index])

    def _positions(self, words: Words) -> Iterator[tuple[int, str]]:
        position = 0
        for word in words:
            yield position, word
            position += len(word) + 1

    def _check_wildcards(self, text: str, words: Words) -> None:
        wild = 0
        for position, word in self._positions(words):
            if not self.is_wild(word):
                self._check_inside(text, position, word)
                continue
            wild += 1
            if wild > self.max_wildcards:
                raise TopicError(text, position, f"more than {self.max_wildcards} wildcards")
            if self.many_last and word == self.many_words and position + len(word) < len(text):
                raise TopicError(text, position, f"{word!r} is not the last word")

    def _check_inside(self, text: str, start: int, word: str) -> None:
        """Refuse a wildcard inside a longer word, if the dialect does."""
        if self.wildcards_in_words:
            return
        for wildcard in self._wildcards:
            if wildcard in word:
                raise TopicError(text, start + word.index(wildcard), f"wildcard {wildcard!r} inside a word")

    def _check_share(self, text: str, words: Words) -> None:
        """Refuse a shared subscription without a group or a filter, and one inside another."""
        group_at = min(len(words[0]) + 1, len(text))
        if not any(words[1:2]):
            raise TopicError(text, group_at, "shared subscription without a group")
        filter_at = group_at + len(words[1]) + 1
        for wildcard in self._wildcards:
            if wildcard in words[1]:
                position = group_at + words[1].index(wildcard)
                raise TopicError(text, position, f"wildcard {wildcard!r} in the name of a group")
        if filter_at >= len(text):
            raise TopicError(text, len(text), "shared subscription without a filter")
        if words[2] == self.share_prefix:
            raise TopicError(text, filter_at, "shared subscription inside another")


def require_dialect(dialect: object) -> None:
    """Require an argument that is a dialect.

    Raises:
        TypeError: It is none, such as the name of one.
    """
    if not isinstance(dialect, Dialect):
        raise TypeError(f"dialect must be a Dialect, such as AMQP, not {type(dialect).__name__}")


def plain_text(text: str, kind: str) -> str:
    """Return the text as a plain str: a subclass could override methods, so that the stored text is not the checked
    one."""
    if not isinstance(text, str):
        raise TypeError(f"a {kind} must be a str, not {type(text).__name__}")
    return str.__str__(text)


def _check_declared(option: Any) -> None:
    """Refuse what a dialect cannot mean by an option."""
    match option:
        case (str() as name, type() | range() | tuple() as allowed) if name and (isinstance(allowed, type) or allowed):
            return
    raise ValueError(f"an option is declared by its name, and a type, a range or a tuple of values; not by {option!r}")


def _is_of(value: Any, kind: type) -> bool:
    """Return whether a value has a type. To Python, True is a number; among the values of options it is not."""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _is_among(value: Any, allowed: type | range | tuple[Any, ...]) -> bool:
    if isinstance(allowed, type):
        return _is_of(value, allowed)
    if isinstance(allowed, range):
        return _is_of(value, int) and value in allowed
    return any(_is_of(value, type(each)) and value == each for each in allowed)


def check_free_option(who: str, name: str, value: Any, known: tuple[str, ...] = ()) -> None:
    """Refuse, with TypeError, an option that is none of those known, if its name is a mistake: almost one of these, or
    almost `but`, which are exclusions in any dialect. Or it is a mapping of options, which would hide them."""
    is_several = name == "options" and isinstance(value, Mapping)
    meant = "**options" if is_several else _almost(name, ("but", *known))
    if meant not in (None, name):
        raise TypeError(f"{who} knows no option {name}; did you mean {meant}?")


@lru_cache(1024)
def _almost(name: str, known: tuple[str, ...]) -> str | None:
    """Return the one of `known` of which `name` may be a misspelling, or None."""
    return next(iter(get_close_matches(name.lower(), known, 1, 0.8)), None)


def _after_word(pattern: _Pattern, position: int, word: str | None) -> Iterator[int]:
    """Yield the positions reached from ``position`` by reading ``word``; None is a word that no filter names."""
    if position in pattern.room:
        yield position
    if position < len(pattern.words) and pattern.words[position] in (None, word):
        yield position + 1


def _after_a_common_word(a: _Pattern, b: _Pattern, i: int, j: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions reached from ``(i, j)`` by a word that fits both patterns."""
    in_a = a.words[i : i + 1]
    in_b = b.words[j : j + 1]
    if in_a and in_b and (in_a == in_b or None in (in_a[0], in_b[0])):
        yield i + 1, j + 1
    if in_a and j in b.room:
        yield i + 1, j
    if in_b and i in a.room:
        yield i, j + 1


AMQP = Dialect(
    name="AMQP",
    separator=".",
    one_word="*",
    many_words="#",
    zero_words=True,
    max_bytes=255,
    max_words=256,
    max_wildcards=128,
)
"""AMQP 0-9-1 topic exchanges: ``*`` one word, ``#`` zero or more, anywhere. A short string has 255
bytes, hence the limits."""

MQTT = Dialect(
    name="MQTT",
    separator="/",
    one_word="+",
    many_words="#",
    many_last=True,
    reserved_prefix="$",
    share_prefix="$share",
    wildcards_in_words=False,
    wildcards_in_topics=False,
    max_bytes=65_535,
    max_words=201,
    max_wildcards=64,
    options=(
        ("qos", range(3)),
        ("no_local", bool),
        ("retain_as_published", bool),
        ("retain_handling", range(3)),
        ("subscription_identifier", range(1, 268_435_456)),
        ("weight", range(1, 1_001)),
    ),
)
"""MQTT 3.1.1 and 5: ``+`` one level, ``#`` zero or more, last. Up to 200 separators, as Mosquitto; the
standard sets no limit."""

NATS = Dialect(
    name="NATS",
    separator=".",
    one_word="*",
    many_words=">",
    many_min=1,
    many_last=True,
    queue_groups=True,
    empty_words=False,
    wildcards_in_topics=False,
    forbidden="\0\t\n\f\r ",
    max_bytes=4_096,
    max_words=256,
    max_wildcards=64,
    options=(("queue", str), ("weight", range(1, 1_001))),
)
"""NATS subjects: ``*`` one token, ``>`` one or more, last. A server's default control line of 4,096 bytes
bounds the length. A server limits tokens only if it is told to, to 255 at most; here the limit is on, since a match
may visit every word of every filter."""
