r"""Matching as an equi-join: the plan that runs none of this package's code on the executors.

A filter's *signature* says at which places of a topic it wants a word; its *key* adds these words:

===================== =========================== ==============================================================
filter (AMQP)         signature                   key
===================== =========================== ==============================================================
``a.*.b``             ``ex*x``: exactly 3 words   ``ex*x``, ``a``, ``b``
``a.#.b.*``           ``m3:x#x*``: 3 or more      ``m3:x#x*``, ``a``, ``b``; the last two words are the topic's last
``#.a.b.#.*.#``       ``c3:2``: 3 or more         ``c3:2``, ``a``, ``b``, somewhere in the topic
===================== =========================== ==============================================================

If a filter has no literal word between its first and its last many-words wildcard, the key is enough: the filter
matches every topic with this key. Any other filter takes its key from its longest run of literal words between them, or
from the words before and after. Topics found by such a key are verified by a regular expression (`catalyst.pattern`). A
message gets one key for each signature of the set that admits its number of words, and is joined on these keys.

Source of the idea: tuple space search (Srinivasan, Suri, Varghese: "Packet classification using tuple space search",
SIGCOMM 1999).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from snapshot import catalyst
from snapshot._extras import extra
from snapshot.catalyst import text
from subtrie import Dialect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_WRITTEN_OUT = 16
"""Up to so many signatures, the expression that makes a message's keys is written out key by key, and Spark compiles
it. With more, the code would be too large for Java's compiler, so a loop over data makes the keys."""


class Signature(NamedTuple):
    """Which words of a topic a filter looks at.

    Args:
        text: the signature as it appears in the set's rows.
        exact: how many words the topic has; None for ``least`` or more.
        least: the least number of words.
        first: places of literal words, counted from the first word.
        last: places of further literal words, counted back from the last word.
        run: instead of places, the length of a run of literal words anywhere in the topic; or None.
        starts_wild: whether the filter's first word is a wildcard.
    """

    text: str
    exact: int | None
    least: int
    first: tuple[int, ...]
    last: tuple[int, ...]
    run: int | None
    starts_wild: bool

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read what `keyed` writes.

        >>> Signature.parse("m3:x#x*")
        Signature(text='m3:x#x*', exact=None, least=3, first=(0,), last=(1,), run=None, starts_wild=False)
        """
        if text[0] == "e":
            mask = text[1:]
            return cls(text, len(mask), len(mask), _places(mask), (), None, mask.startswith("*"))
        least, rest = text[1:].split(":", 1)
        if text[0] in "cw":
            return cls(text, None, int(least), (), (), int(rest), text[0] == "w")
        first, last = rest.split("#")
        starts_wild = not first or first.startswith("*")
        return cls(text, None, int(least), _places(first), _places(last[::-1]), None, starts_wild)


def _places(mask: str) -> tuple[int, ...]:
    return tuple(found.start() for found in re.finditer("x", mask))


# The set --------------------------------------------------------------------------------------------------------------


def keyed(subscriptions: DataFrame, dialect: Dialect) -> DataFrame:
    """The set with three more columns: ``signature``, ``key`` and ``pattern``, which is null if the key is enough.

    Args:
        subscriptions: a data frame with a column ``filter``.
    """
    many, separator = dialect.many_words, text(dialect.separator)
    split = subscriptions.selectExpr("*", f"{catalyst.words('filter', dialect)} as all_words").selectExpr(
        "*", f"{catalyst.unshared('all_words', dialect)} as w"
    )
    if many is None:
        split = split.selectExpr("*", f"w as pre, {catalyst.NO_WORDS} as mid, {catalyst.NO_WORDS} as suf, 0 as k")
    else:
        split = split.selectExpr(
            "*",
            f"cast(array_position(w, {text(many)}) as int) as at",
            f"size(w) + 1 - cast(array_position(reverse(w), {text(many)}) as int) as til",
        ).selectExpr(
            "*",
            "if(at = 0, w, slice(w, 1, greatest(at - 1, 0))) as pre",
            f"if(at = 0 or til <= at, {catalyst.NO_WORDS}, slice(w, at + 1, greatest(til - at - 1, 0))) as mid",
            f"if(at = 0, {catalyst.NO_WORDS}, slice(w, til + 1, greatest(size(w) - til, 0))) as suf",
            f"size(filter(w, x -> x = {text(many)})) as k",
        )
    literal = f"x -> not {catalyst.is_wild('x', dialect)}"
    mask = f"transform(%s, x -> if(x = {text(dialect.one_word)}, '*', 'x'))"
    starts_wild = f"coalesce({catalyst.is_wild('try_element_at(w, 1)', dialect)}, false)"
    return (
        split.selectExpr(
            "*",
            f"exists(mid, {literal}) as verified",
            f"concat(filter(pre, {literal}), filter(suf, {literal})) as outer",
            f"size(w) - k + k * {dialect.many_min} as least",
        )
        .selectExpr("*", f"if(verified, {_longest_run('mid', dialect)}, {catalyst.NO_WORDS}) as run")
        .selectExpr(
            "*",
            "case when k = 0 then concat('e', array_join(" + mask % "pre" + ", ''))"
            f" when size(run) > size(outer) then concat(if({starts_wild}, 'w', 'c'), least, ':', size(run))"
            " else concat('m', least, ':', array_join("
            + mask % "pre"
            + ", ''), '#', array_join("
            + mask % "suf"
            + ", '')) end as signature",
            f"if(verified, {catalyst.pattern('w', dialect)}, null) as pattern",
        )
        .selectExpr(
            *(f"`{name}`" for name in subscriptions.columns),
            "signature",
            f"array_join(concat(array(signature), if(size(run) > size(outer), run, outer)), {separator}) as key",
            "pattern",
        )
    )


def _longest_run(filter_words: str, dialect: Dialect) -> str:
    """The first of the longest runs of literal words."""
    empty = catalyst.NO_WORDS
    grown = f"if({catalyst.is_wild('x', dialect)}, {empty}, concat(a.run, array(x)))"
    step = f"(a, x) -> named_struct('best', if(size({grown}) > size(a.best), {grown}, a.best), 'run', {grown})"
    return f"aggregate({filter_words}, named_struct('best', {empty}, 'run', {empty}), {step}, a -> a.best)"


# The messages ---------------------------------------------------------------------------------------------------------


def keys_of(topic: str, topic_words: str, signatures: Iterable[Signature], dialect: Dialect) -> Column:
    """The keys of a valid topic, as an array that may contain nulls.

    Args:
        topic: the name of the column that holds the topic.
        topic_words: the name of the column that holds its words.
        signatures: the signatures of the set.
    """
    present = sorted(signatures)
    placed = [signature for signature in present if signature.run is None]
    make = _written_out if len(placed) <= MOST_WRITTEN_OUT else _looped
    arrays = [*make(topic, topic_words, placed, dialect), *_of_runs(topic, topic_words, present, dialect)]
    expr = extra("pyspark.sql.functions").expr
    return expr(f"concat({', '.join(arrays)})" if arrays else catalyst.NO_WORDS)  # type: ignore[no-any-return]


def _written_out(topic: str, topic_words: str, signatures: list[Signature], dialect: Dialect) -> list[str]:
    by_length: dict[int | None, list[str]] = {}
    for signature in signatures:
        by_length.setdefault(signature.exact, []).append(_key(topic, topic_words, signature, dialect))
    open_ended = by_length.pop(None, [])
    arrays = [f"array({', '.join(open_ended)})"] if open_ended else []
    if by_length:
        cases = "".join(f" when {length} then array({', '.join(keys)})" for length, keys in by_length.items())
        arrays.append(f"case size({topic_words}){cases} else {catalyst.NO_WORDS} end")
    return arrays


def _key(topic: str, topic_words: str, signature: Signature, dialect: Dialect) -> str:
    separator = text(dialect.separator)
    places = [f"get({topic_words}, {place})" for place in signature.first]
    places += [f"get({topic_words}, size({topic_words}) - {place + 1})" for place in reversed(signature.last)]
    key = f"concat({', '.join([text(signature.text), *(part for place in places for part in (separator, place))])})"
    conditions = [] if signature.exact is not None else [f"size({topic_words}) >= {signature.least}"]
    if signature.starts_wild and dialect.reserved_prefix is not None:
        conditions.append(f"not {catalyst.is_reserved(topic, dialect)}")
    return f"if({' and '.join(conditions)}, {key}, null)" if conditions else key


def _looped(topic: str, topic_words: str, signatures: list[Signature], dialect: Dialect) -> list[str]:
    """The same as `_written_out`, by a loop over the signatures as data."""
    rows = ", ".join(
        f"struct({text(signature.text)} as name, {-1 if signature.exact is None else signature.exact} as exact, "
        f"{signature.least} as least, {_integers(signature.first)} as first, "
        f"{_integers(signature.last[::-1])} as last, {str(signature.starts_wild).lower()} as wild)"
        for signature in signatures
    )
    suits = f"if(s.exact >= 0, size({topic_words}) = s.exact, size({topic_words}) >= s.least)"
    if dialect.reserved_prefix is not None:
        suits += f" and not (s.wild and {catalyst.is_reserved(topic, dialect)})"
    key = (
        f"array_join(concat(array(s.name), transform(s.first, p -> get({topic_words}, p)), "
        f"transform(s.last, p -> get({topic_words}, size({topic_words}) - 1 - p))), {text(dialect.separator)})"
    )
    return [f"transform(filter(array({rows}), s -> {suits}), s -> {key})"]


def _integers(numbers: tuple[int, ...]) -> str:
    return f"cast(array({', '.join(map(str, numbers))}) as array<int>)"


def _of_runs(topic: str, topic_words: str, signatures: list[Signature], dialect: Dialect) -> list[str]:
    """Keys of the filters that are found by a run of words: each different run of that length in the topic."""
    arrays = []
    for signature in signatures:
        if signature.run is None:
            continue
        suits = f"size({topic_words}) >= {signature.least}"
        if signature.starts_wild and dialect.reserved_prefix is not None:
            suits += f" and not {catalyst.is_reserved(topic, dialect)}"
        run = f"slice({topic_words}, i, {signature.run})"
        key = f"concat({text(signature.text + dialect.separator)}, array_join({run}, {text(dialect.separator)}))"
        starts = f"sequence(1, greatest(1, size({topic_words}) - {signature.run - 1}))"
        arrays.append(f"if({suits}, array_distinct(transform({starts}, i -> {key})), {catalyst.NO_WORDS})")
    return arrays


# The join -------------------------------------------------------------------------------------------------------------


def joined(
    messages: DataFrame,
    topic: str,
    error: str,
    subscriptions: DataFrame,
    signatures: Iterable[Signature],
    dialect: Dialect,
    *,
    small: bool,
) -> DataFrame:
    """Messages with the columns of the subscriptions that match them. Messages with an error get nulls there.

    Args:
        messages: the messages; no column has a name that the set's columns have.
        topic: the name of the column that holds the topic; null matches no subscriber.
        error: the name of the column that says what is wrong with the topic, or null.
        subscriptions: the result of `keyed`.
        signatures: the signatures in ``subscriptions``.
        small: whether the set may be sent to all executors.
    """
    functions = extra("pyspark.sql.functions")
    keys = functions.when(functions.col(error).isNull(), keys_of(topic, "w", signatures, dialect))
    none = functions.expr("array(cast(null as string))")
    exploded = (
        messages.withColumn("w", functions.expr(catalyst.words(topic, dialect)))
        .withColumn("k", functions.explode(functions.coalesce(keys, none)))
        .where(f"k is not null or {error} is not null")
    )
    sent = functions.broadcast(subscriptions) if small else subscriptions
    found = exploded.join(sent, exploded["k"] == sent["key"], "left")
    verified = f"pattern is null or rlike({catalyst.terminated(topic, dialect)}, pattern)"
    return found.where(f"{error} is not null or (key is not null and ({verified}))")
