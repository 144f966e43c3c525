"""Columns that others made become a trie, whatever Arrow's types for them are, or an error names the row or column."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import snapshot
from snapshot import text_columns
from subtrie import AMQP, MQTT, NATS, Dialect, TopicError
from tests.scripts import run_script
from tests.snapshot.support import held_by

TABLE = pa.table({"filter": ["a.*", "b"], "subscriber": ["alice", "bob"]})
MAP, PAIR = pa.map_(pa.string(), pa.string()), pa.struct({"key": pa.string(), "value": pa.string()})
KINDS = [pa.string(), pa.large_string(), pa.string_view()]


def with_column(name: str, values: Any, kind: Any = None) -> pa.Table:
    return pa.table({**{each: TABLE[each] for each in TABLE.column_names}, name: pa.array(values, kind)})


def test_whatever_has_rows_is_taken() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return TABLE.__arrow_c_stream__(requested_schema)

    (batch,) = TABLE.to_batches()
    for data in (TABLE, batch, TABLE.to_reader(), Stream()):
        assert held_by(snapshot.from_arrow(data, AMQP)) == {("a.*", "alice"): {}, ("b", "bob"): {}}
    with pytest.raises(TypeError, match=r"the data must be an Arrow table, .* not list"):
        snapshot.from_arrow([("a", "s")], AMQP)


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_text_of_any_type_is_taken(kind: pa.DataType, numbered: bool) -> None:
    def column(texts: list[str | None]) -> pa.Array:
        if not numbered:
            return pa.array(texts, kind)
        encoded = pa.array(texts).dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(kind))

    columns = {**TABLE.to_pydict(), "group": ["q", None], "dialect": ["NATS", "NATS"]}
    table = pa.table({**{name: column(values) for name, values in columns.items()}, "types": pa.nulls(2)})
    pairs = pa.StructArray.from_arrays([column(["n", "m", "m"]), column(["1", None, "2"])], names=["key", "value"])
    for options in (
        pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), pairs),
        pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), *pairs.flatten()),
    ):
        built = snapshot.from_arrow(table.append_column("options", options))
        assert held_by(built) == {("a.*", "alice"): {"n": "1", "m": None, "queue": "q"}, ("b", "bob"): {"m": "2"}}
        assert built.stats()["groups"] == 1
        built.subscribe("b", "bob", m="3")  # those that share options change alone
        assert held_by(built)["a.*", "alice"]["m"] is None
        built.check()


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_any_type_is_counted_as_it_is_written_out(kind: pa.DataType) -> None:
    texts = pa.array(["a", "twelve or more bytes", "é"], kind)
    pairs = pa.StructArray.from_arrays([texts, texts], names=["key", "value"])
    for column, bytes_in in (
        (texts, 23),
        (texts[1:], 22),
        (texts[:0], 0),
        (pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, None, 2], pa.int32()), texts), 43),
        (pa.MapArray.from_arrays(pa.array([0, 1, 3], pa.int32()), texts, texts)[1:], 44),
        (pa.LargeListArray.from_arrays(pa.array([0, 1, 3]), pairs), 46),
    ):
        assert text_columns.text_in(pa.record_batch({"filter": column})) == bytes_in


def test_options_are_read_as_they_are_however_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """As maps or lists of pairs, with nulls among them, in slices."""
    monkeypatch.setattr(text_columns, "BATCH_ROWS", 7)
    chance = random.Random(9)
    kinds: list[Any] = [
        *(None, [], [("a", "1")], [("a", "2")], [("a", "1"), ("b", "1")], [("b", "1"), ("a", "1")], [("a", None)]),
        *([("a", ""), ("b", None)], [(f"n{number}", str(number)) for number in range(20)]),
        [(f"n{number}", str(number % 19)) for number in range(20)],
    ]
    rows = [chance.choice(kinds) for _ in range(100)]
    listed = [row and [{"key": name, "value": value} for name, value in row] for row in rows]
    for column in (
        pa.array([None, *rows], MAP)[1:],
        pa.array(rows, pa.map_(pa.large_string(), pa.large_string())),
        pa.array(listed, pa.list_(PAIR)),
    ):
        table = pa.table({"filter": [str(n) for n in range(100)], "subscriber": ["s"] * 100, "options": column})
        for start in (0, 1, 55):
            found = held_by(snapshot.from_arrow(table[start:], AMQP))
            assert found == {(str(n), "s"): dict(rows[n] or ()) for n in range(start, 100)}


NAMES = [f"a.{number}" for number in range(100)]
NULLS = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["AMQP", None]))
"""A column of numbers of texts has no nulls of its own if one of the texts is null."""
DOUBLE = [{"key": "x", "value": "1"}] * 2
SHARED = {"filter": ["$share/g/a", "b"], "subscriber": ["s", "s"], "group": ["g", "g"]}
REFUSED: list[tuple[pa.Table, Dialect | None, str]] = [
    (TABLE, None, "no column names the dialect: give dialect="),
    (TABLE[:0], None, r"no rows.*give dialect="),
    (TABLE.select(["filter"]), AMQP, "there is no column 'subscriber', only"),
    (with_column("dialect", ["NATS"] * 2), AMQP, "row 0: it is of the dialect 'NATS', not 'AMQP'"),
    (with_column("dialect", ["NITS"] * 2), None, "row 0: 'NITS' is not one of the dialects AMQP, MQTT, NATS"),
    (with_column("dialect", NULLS), AMQP, "row 1: it is of the dialect None"),
    (with_column("group", NULLS), AMQP, "row 0: it is in the group 'AMQP'"),
    (pa.table(SHARED), MQTT, "row 1: it is in the group 'g', and its filter or options name None"),
    (with_column("filter", [None, "b"]), AMQP, "row 0: filter is null"),
    (with_column("filter", NULLS), AMQP, "row 1: filter is null"),
    (with_column("subscriber", ["alice", None]), AMQP, "row 1: subscriber is null"),
    (with_column("subscriber", NULLS), AMQP, "row 1: subscriber is null"),
    (with_column("filter", [1, 2]), AMQP, "column 'filter' must hold text, not int64"),
    (with_column("subscriber", [b"a", b"b"]), AMQP, "column 'subscriber' must hold text, not binary"),
    (with_column("options", ["qos=1", ""]), AMQP, "column 'options' must hold maps of text to text, not string"),
    (with_column("options", [[("n", 1)], []], pa.map_(pa.string(), pa.int32())), AMQP, "options"),
    (with_column("options", [[1], []], pa.list_(pa.int32())), AMQP, "options"),
    (with_column("options", [[], [{"key": None, "value": "2"}]], pa.list_(PAIR)), AMQP, "row 1: an option has no name"),
    (with_column("options", [[], [None]], pa.list_(PAIR)), AMQP, "row 1: an option has no name"),
    (with_column("options", [[], DOUBLE], pa.list_(PAIR)), AMQP, "row 1: an option occurs twice among"),
    (
        pa.table({"filter": ["a", "b"], "subscriber": ["s"] * 2, "options": pa.array([[], [("qos", "{")]], MAP)}),
        MQTT,
        "row 1: option 'qos' is not JSON",
    ),
    (with_column("filter", ["a", "a\0"]), AMQP, "row 1: forbidden character"),
    (pa.table({"filter": [*NAMES[:70], "a\0"], "subscriber": ["s"] * 71}), AMQP, "row 70: forbidden character"),
    (pa.table({"filter": [*NAMES, ""], "subscriber": ["s"] * 101}), MQTT, "row 100: "),
    (pa.table({"filter": [*NAMES, "a.3"], "subscriber": ["s"] * 101}), AMQP, r"row 100: subscriber 's' is on 'a\.3'"),
    (pa.table({"filter": ["a", "a", "b"], "subscriber": ["s"] * 3}), AMQP, "row 1: subscriber 's' is on 'a' already"),
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_no_subscription_is_named(number: int, exact: bool) -> None:
    table, dialect, says = REFUSED[number]
    with pytest.raises(TopicError if "forbidden" in says else ValueError, match=says):
        snapshot.from_arrow(table, dialect, exact=exact)


def test_a_dialect_is_found_in_its_column_or_given() -> None:
    assert snapshot.from_arrow(with_column("dialect", ["NATS"] * 2)).dialect == NATS
    assert held_by(snapshot.from_arrow(TABLE[:0], MQTT)) == {}
    nulls = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["m", "n"]), NULLS)
    found = held_by(snapshot.from_arrow(with_column("options", nulls), AMQP))
    assert found == {("a.*", "alice"): {"m": "AMQP"}, ("b", "bob"): {"n": None}}


# Buffers that contradict themselves, as a file that nobody has checked may have them: an error, no crash.
LIES = """
import array, sys
import pyarrow as pa
import snapshot
from subtrie import AMQP

def offsets(*numbers):
    return pa.py_buffer(array.array("i", numbers).tobytes())

text = pa.py_buffer(b"abc")
STRINGS = {
    **{f"{ends} of {content}": lambda ends=ends, content=content: pa.StringArray.from_buffers(2, offsets(*ends), pa.py_buffer(content))
       for ends in [(0, -5, 3), (0, 3, 1), (1, 0, 3), (0, 2**31 - 1, 2), (1, -(2**31), 2)]
       for content in (b"abc", b"a\\xff\\xfe")},
    "beyond the text": lambda: pa.StringArray.from_buffers(2, offsets(0, 1, 1_000_000), text),
    "too few": lambda: pa.StringArray.from_buffers(100_000, offsets(0, 1, 3), text),
    "not UTF-8": lambda: pa.StringArray.from_buffers(2, offsets(0, 1, 3), pa.py_buffer(bytes([97, 255, 254]))),
    "begins beyond": lambda: pa.StringArray.from_buffers(2, offsets(0, 1, 3), text, offset=1000),
    "nulls unsaid": lambda: pa.StringArray.from_buffers(2, offsets(0, 1, 3), text, pa.py_buffer(bytes(1)), null_count=0),
}
LISTED = {"index": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["s"]), safe=False)}
pairs = pa.StructArray.from_arrays([pa.array(["k"]), pa.array(["v"])], names=["key", "value"])
kind = pa.map_(pa.string(), pa.string())
MAPS = {"map": lambda: pa.MapArray.from_buffers(kind, 2, [None, offsets(0, 1, 1000)], children=[pairs])}
MAPS |= {name: lambda make=make: pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["m", "n"]), make())
         for name, make in STRINGS.items() if "of" in name}
for column, lies in (("filter", STRINGS), ("subscriber", STRINGS), ("subscriber", LISTED), ("options", MAPS)):
    for name, make in lies.items():
        try:
            lie = make()
            rows = range(len(lie))
            right = {"filter": pa.array([f"f{row}" for row in rows]), "subscriber": pa.array([f"s{row}" for row in rows])}
            snapshot.from_arrow(pa.record_batch(right | {column: lie}), AMQP)
        except ValueError as error:
            assert " of " not in name or f"column '{column}' is damaged" in str(error), error
            continue
        if name != "nulls unsaid":  # such a column has texts where others see none
            sys.exit(f"{column}: {name} was believed")
"""

# Arrow makes no array of such a map: it ends the process. A record batch of a file has no arrays until it is asked for one.
NULL_KEY = """
import pyarrow as pa
import snapshot
from subtrie import AMQP

class Exporter:
    def __arrow_c_array__(self, requested_schema=None):
        pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
        columns = {"filter": ["a"], "subscriber": ["ann"], "options": pa.array([[{"key": None, "value": "v"}]], pairs)}
        columns["dialect"] = ["AMQP"]
        listed = pa.record_batch(columns)
        kinds = {"options": pa.map_(pa.string(), pa.string())}
        schema = pa.schema([(field.name, kinds.get(field.name, field.type)) for field in listed.schema])
        return schema.__arrow_c_schema__(), listed.__arrow_c_array__()[1]

batch = pa.record_batch(Exporter())
for dialect in (AMQP, None):
    for data in (batch, pa.RecordBatchReader.from_batches(batch.schema, [batch])):
        try:
            snapshot.from_arrow(data, dialect)
        except ValueError as error:
            assert "damaged" in str(error), error
        else:
            raise AssertionError("it was believed")
"""


@pytest.mark.parametrize("script", [LIES, NULL_KEY], ids=["offsets", "a null for a name"])
def test_what_points_anywhere_is_refused(script: str) -> None:
    status, _, errors = run_script(script)
    assert status == 0, errors[-1000:]
