"""A dialect's rules as Spark SQL text: words, what is wrong with a topic, which filters match it.

Every function takes SQL expressions and returns one that Spark's own engine (Catalyst) evaluates, so none of this
package's code runs on the executors. The tests compare every function with `subtrie.Dialect`.

Constants are written as hexadecimal bytes, since the meaning of a backslash in SQL depends on a setting.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from snapshot.sparks import as_utf8, is_utf8
from subtrie import Dialect

NO_WORDS = "cast(array() as array<string>)"
_EXCERPT = 60
"""How many characters of a bad topic are shown on each side of the fault, as in `TopicError`."""


def text(value: str) -> str:
    """``value`` as a constant.

    >>> text("a")
    "cast(X'61' as string)"
    """
    return f"cast(X'{value.encode().hex()}' as string)"


def words(topic: str, dialect: Dialect) -> str:
    """The words of a topic or filter. The empty text has none if the dialect says so."""
    pattern = text(rf"\Q{dialect.separator}\E")
    split = f"split({topic}, {pattern}, -1)"
    return f"if({topic} = '', {NO_WORDS}, {split})" if dialect.zero_words else split


def is_reserved(topic: str, dialect: Dialect) -> str:
    """Whether the topic is reserved: filters whose first word is a wildcard do not match it."""
    if dialect.reserved_prefix is None:
        return "false"
    return f"startswith(substring_index({topic}, {text(dialect.separator)}, 1), {text(dialect.reserved_prefix)})"


def is_wild(word: str, dialect: Dialect) -> str:
    """Whether a word of a filter is a wildcard."""
    return f"{word} in ({', '.join(map(text, _wildcards(dialect)))})"


# What is wrong with a topic -------------------------------------------------------------------------------------------


class _Offence(NamedTuple):
    """A possible fault: whether the topic has it, and a struct of the ``reason`` and its place ``at`` in the topic."""

    holds: str
    told: str


def topic_error(topic: str, dialect: Dialect) -> str:
    """Why the dialect refuses a topic, in the words of `TopicError`; null for a good topic, and for null."""
    offences = _offences(topic, dialect)
    is_bad = " or ".join(offence.holds for offence in offences)
    first = "".join(f" when {offence.holds} then {offence.told}" for offence in offences)
    told = f"element_at(transform(array(case{first} end), o -> {_message(topic, 'o', dialect)}), 1)"
    return f"if(coalesce({is_bad}, false), {told}, null)"


def _told(reason: str, at: str) -> str:
    return f"named_struct('reason', {text(reason)}, 'at', {at})"


def _offences(topic: str, dialect: Dialect) -> list[_Offence]:
    """The possible faults, in the order in which a dialect looks for them."""
    separator = text(dialect.separator)
    offences = [_Offence(f"not {is_utf8(topic)}", _told("not UTF-8", "0")), _too_long(topic, dialect)]
    for character in dialect.forbidden:
        found = f"instr({topic}, {text(character)})"
        offences.append(_Offence(f"{found} > 0", _told(f"forbidden character {character!r}", f"{found} - 1")))
    if not dialect.zero_words:
        offences.append(_Offence(f"{topic} = ''", _told("empty topic", "0")))
    start = f"char_length(substring_index({topic}, {separator}, {dialect.max_words})) + 1"
    count = f"char_length({topic}) - char_length(replace({topic}, {separator}))"
    offences.append(_Offence(f"{count} >= {dialect.max_words}", _told(f"more than {dialect.max_words} words", start)))
    if not dialect.empty_words:
        offences.append(_empty_word(topic, dialect))
    if not dialect.wildcards_in_topics:
        offences.append(_wildcard(topic, dialect))
    return offences


def _too_long(topic: str, dialect: Dialect) -> _Offence:
    fitting = f"cast(substring(cast({topic} as binary), 1, {dialect.max_bytes}) as string)"
    position = f"char_length({as_utf8(fitting)}) - if({is_utf8(fitting)}, 0, 1)"
    return _Offence(
        f"octet_length({topic}) > {dialect.max_bytes}", _told(f"longer than {dialect.max_bytes} bytes", position)
    )


def _empty_word(topic: str, dialect: Dialect) -> _Offence:
    separator, twice = text(dialect.separator), text(2 * dialect.separator)
    position = (
        f"case when startswith({topic}, {separator}) then 0 "
        f"when contains({topic}, {twice}) then instr({topic}, {twice}) else char_length({topic}) end"
    )
    holds = f"startswith({topic}, {separator}) or endswith({topic}, {separator}) or contains({topic}, {twice})"
    return _Offence(f"({holds})", _told("empty word", position))


def _wildcard(topic: str, dialect: Dialect) -> _Offence:
    """The first word that is a wildcard, or contains one if the dialect refuses that."""
    separator = text(dialect.separator)
    found = f"transform({words(topic, dialect)}, (x, i) -> {_wildcard_in('x', 'i', dialect)})"
    first = f"slice(filter({found}, x -> x is not null), 1, 1)"
    start = f"char_length(substring_index({topic}, {separator}, f.i)) + if(f.i > 0, 1, 0) + f.at"
    told = f"element_at(transform({first}, f -> named_struct('reason', f.reason, 'at', {start})), 1)"
    suspect = " or ".join(f"contains({topic}, {text(word)})" for word in _wildcards(dialect))
    is_one = _wildcard_in("x", "0", dialect)
    return _Offence(f"(({suspect}) and exists({words(topic, dialect)}, x -> {is_one} is not null))", told)


def _wildcard_in(word: str, index: str, dialect: Dialect) -> str:
    cases = [(f"{word} = {text(wild)}", f"wildcard {wild!r} in a topic", "0") for wild in _wildcards(dialect)]
    if not dialect.wildcards_in_words:
        cases += [
            (f"contains({word}, {text(wild)})", f"wildcard {wild!r} inside a word", f"instr({word}, {text(wild)}) - 1")
            for wild in _wildcards(dialect)
        ]
    found = "".join(
        f" when {holds} then named_struct('i', {index}, 'at', {at}, 'reason', {text(reason)})"
        for holds, reason, at in cases
    )
    return f"case{found} end"


def _wildcards(dialect: Dialect) -> list[str]:
    return [word for word in (dialect.one_word, dialect.many_words) if word is not None]


def _message(topic: str, told: str, dialect: Dialect) -> str:
    valid, start = as_utf8(topic), f"greatest(0, {told}.at - {_EXCERPT})"
    excerpt = f"substring({valid}, {start} + 1, {told}.at + {_EXCERPT} - {start})"
    shown = f"replace({excerpt}, {text(chr(92))}, {text(2 * chr(92))})"
    for character in dict.fromkeys(dialect.forbidden + "\n\r\t"):
        shown = f"replace({shown}, {text(character)}, {text(repr(character)[1:-1])})"
    before = f"if({start} > 0, '...', '')"
    after = f"if(char_length({valid}) > {told}.at + {_EXCERPT}, '...', '')"
    quote = text("'")
    return f"concat({told}.reason, ' at character ', {told}.at, ' of ', {before}, {quote}, {shown}, {quote}, {after})"


# What filters match ---------------------------------------------------------------------------------------------------


def unshared(filter_words: str, dialect: Dialect) -> str:
    """The words of a filter without the prefix and group of a shared subscription."""
    if dialect.share_prefix is None:
        return filter_words
    is_shared = f"try_element_at({filter_words}, 1) = {text(dialect.share_prefix)} and size({filter_words}) > 2"
    return f"if({is_shared}, slice({filter_words}, 3, size({filter_words})), {filter_words})"


def terminated(topic: str, dialect: Dialect) -> str:
    """A topic as `pattern` reads it: each of its words followed by the separator."""
    ended = f"concat({topic}, {text(dialect.separator)})"
    return f"if({topic} = '', '', {ended})" if dialect.zero_words else ended


def pattern(filter_words: str, dialect: Dialect) -> str:
    """A Java regular expression that is found in exactly those `terminated` topics that the filter matches.

    The words between two many-words wildcards are fixed in number, so they may be matched at their first occurrence.
    Each such piece is therefore an atomic group, and the time is at most proportional to the words of the topic times
    those of the filter, however many wildcards there are.
    """
    separator = re.escape(dialect.separator) if dialect.separator.isascii() else dialect.separator
    word = f"[^{separator}]*+{separator}"
    quote, unquote, end_in_quotes = text(r"\Q"), text(r"\E"), text(r"\E\\E\Q")
    literal = f"concat({quote}, replace(x, {unquote}, {end_in_quotes}), {unquote}, {text(separator)})"
    one = f"when x = {text(dialect.one_word)} then {text(word)}"
    if dialect.many_words is None:
        pieces = f"transform({filter_words}, x -> case {one} else {literal} end)"
    else:
        many = text(dialect.many_words)
        some = f"(?:{word}){{{dialect.many_min},}}"
        first = f"array_position({filter_words}, {many}) - 1"
        last = f"size({filter_words}) - array_position(reverse({filter_words}), {many})"
        run = (
            f"when x = {many} then concat(if(i > {first}, ')', ''), "
            f"if(i = {last}, {text(some)}, {text('(?>' + some + '?')}))"
        )
        pieces = f"transform({filter_words}, (x, i) -> case {run} {one} else {literal} end)"
    start, end = text(r"(?s)\A"), text(r"\z")
    return f"concat({start}, array_join({pieces}, ''), {end})"


def matches(filter: str, topic: str, dialect: Dialect) -> str:
    """Whether a filter matches a topic; null if one of them is null, or if the dialect refuses the topic."""
    filter_words = unshared(words(filter, dialect), dialect)
    found = f"rlike({terminated(topic, dialect)}, {pattern(filter_words, dialect)})"
    if dialect.reserved_prefix is not None:
        starts_wild = is_wild(f"try_element_at({filter_words}, 1)", dialect)
        found = f"{found} and not ({is_reserved(topic, dialect)} and coalesce({starts_wild}, false))"
    is_bad = " or ".join(offence.holds for offence in _offences(topic, dialect))
    return f"if({filter} is null or {topic} is null or {is_bad}, null, {found})"
