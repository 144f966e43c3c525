"""A dialect's rules as Spark SQL text: whether a filter matches a topic.

Every function takes SQL expressions and returns one that Spark's own engine (Catalyst) evaluates, so none of this
package's code runs on the executors. The tests compare them with `subtrie.Dialect`.

Constants are written as hexadecimal bytes, since the meaning of a backslash in SQL depends on a setting.
"""

from __future__ import annotations

import re

from subtrie import Dialect

NO_WORDS = "cast(array() as array<string>)"


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


def is_wild(word: str, dialect: Dialect) -> str:
    """Whether a word of a filter is a wildcard."""
    return f"{word} in ({', '.join(map(text, _wildcards(dialect)))})"


def refused(topic: str, dialect: Dialect) -> str:
    """Whether the dialect refuses a topic."""
    separator, twice = text(dialect.separator), text(2 * dialect.separator)
    faults = [
        f"not is_valid_utf8({topic})",
        f"octet_length({topic}) > {dialect.max_bytes}",
        f"char_length({topic}) - char_length(replace({topic}, {separator})) >= {dialect.max_words}",
        *(_contains(topic, character) for character in dialect.forbidden),
    ]
    if not dialect.zero_words:
        faults.append(f"{topic} = ''")
    if not dialect.empty_words:
        faults.append(
            f"startswith({topic}, {separator}) or endswith({topic}, {separator}) or contains({topic}, {twice})"
        )
    if not dialect.wildcards_in_topics:
        faults.append(f"exists({words(topic, dialect)}, x -> {is_wild('x', dialect)})")
        if not dialect.wildcards_in_words:
            faults += [_contains(topic, wildcard) for wildcard in _wildcards(dialect)]
    return " or ".join(faults)


def _contains(topic: str, part: str) -> str:
    return f"contains({topic}, {text(part)})"


def _wildcards(dialect: Dialect) -> list[str]:
    return [word for word in (dialect.one_word, dialect.many_words) if word is not None]


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
        first = f"substring_index({topic}, {text(dialect.separator)}, 1)"  # filters that start wild do not match it
        is_reserved = f"startswith({first}, {text(dialect.reserved_prefix)})"
        found = f"{found} and not ({is_reserved} and coalesce({starts_wild}, false))"
    return f"if({filter} is null or {topic} is null or {refused(topic, dialect)}, null, {found})"
