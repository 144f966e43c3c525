"""A data frame of messages, prepared for matching: plain names, the topic's column found, the mode checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.held_sets import JOINED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
TOPIC_ERROR = "_topic_error"
"""The column that says what is wrong with a topic, in a result that keeps bad topics."""


class Messages(NamedTuple):
    """Messages with plain names, since Spark reads some names as expressions: ``c0``, ``c1`` and so on.

    Args:
        frame: the messages' columns, then the topic and the groups' key if they are not among these.
        names: the messages' own names.
        topic: the number of the column that holds the topic.
        key: the number of the column that chooses the member of a group, or None.
        mode: what happens to bad topics.
        as_of: the number of the column that holds the time of a message, or None.
    """

    frame: DataFrame
    names: list[str]
    topic: int
    key: int | None
    mode: str
    as_of: int | None = None


def messages_of(
    frame: DataFrame, topic: str | Column, mode: str, groups: str | Column, as_of: str | Column | None = None
) -> Messages:
    """Check the messages that are to be matched, and give their columns plain names.

    Raises:
        TypeError: ``frame`` is not a data frame, or ``topic`` or ``groups`` is neither a text nor a column.
        ValueError: the messages cannot be joined.
    """
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(f"messages must be a Spark DataFrame, not {type(frame).__name__}")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    _refuse_twice(frame, mode)
    extended, place = _placed(frame, topic, "topic")
    key = time = None
    if not isinstance(groups, str):
        extended, key = _placed(extended, groups, "groups", "string")
    elif groups != "all":
        raise ValueError(f'groups must be "all" or a column, such as F.col({groups!r}), not {groups!r}')
    if isinstance(as_of, str):  # one of the messages' own columns, whatever the added ones are called
        as_of = frame[f"`{frame.columns[_place_of(frame, as_of)].replace('`', '``')}`"]
    if as_of is not None:
        extended, time = _placed(extended, as_of, "as_of", "timestamp")
    kind = extended.schema.fields[place].dataType
    if not isinstance(kind, extra("pyspark.sql.types").StringType):
        what = f"column {topic!r}" if isinstance(topic, str) else "the topic"
        raise ValueError(
            f"{what} of the messages must hold strings, not {kind}; give a column that does, such as "
            f'topic=F.col("{topic if isinstance(topic, str) else "topic"}").cast("string")'
        )
    plain = extended.toDF(*(f"c{number}" for number in range(len(extended.columns))))
    return Messages(plain, list(frame.columns), place, key, mode, time)


def _placed(frame: DataFrame, column: Any, what: str, kind: str | None = None) -> tuple[DataFrame, int]:
    """The messages with a column, as the last one or where it is, and its number.

    Args:
        column: the column, or its name, dots included.
        what: the parameter, for errors.
        kind: the type that it gets; None for its own.
    """
    if isinstance(column, str):
        return frame, _place_of(frame, column)
    if not hasattr(column, "cast"):
        raise TypeError(f"{what} must be the name of a column or a Column, not {type(column).__name__}")
    added = column if kind is None else column.cast(kind)
    return frame.select("*", added.alias(f"_{len(frame.columns)}")), len(frame.columns)


def _as_read(frame: DataFrame) -> Any:
    """The function of a column's name that Spark compares."""
    case_sensitive = str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    return str if case_sensitive else str.lower


def _place_of(frame: DataFrame, topic: str) -> int:
    as_read = _as_read(frame)
    names = [as_read(name) for name in frame.columns]
    if as_read(topic) not in names:
        raise ValueError(f"the messages have no column {topic!r}, only {frame.columns}")
    return names.index(as_read(topic))


def _refuse_twice(frame: DataFrame, mode: str) -> None:
    as_read = _as_read(frame)
    added = [*JOINED, *([TOPIC_ERROR] if mode == "PERMISSIVE" else [])]
    occurrences = Counter([*map(as_read, frame.columns), *added])
    twice = [name for name in frame.columns if occurrences[as_read(name)] > 1]
    if twice:
        raise ValueError(f"the result would have these columns of the messages twice, rename them: {twice}")
