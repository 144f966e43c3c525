"""Other readers of a published directory, on the page about its format: its lines run, and find what the trie holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import snapshot
from snapshot.published import open_directory
from snapshot.published.deletion_vector import roaring
from snapshot.published.feed import feed_schema, read_feed
from subtrie import MQTT, NATS, Dialect
from tests.snippets import snippets

PAGE = Path(__file__).parents[2] / "docs" / "published-format.md"
READERS = PAGE.read_text(encoding="utf-8").partition("## In other readers")[2].partition("\n## ")[0]

pytestmark = pytest.mark.once


SECOND = """    trie.subscribe("alarm/#", "guard", qos=1)
    trie.unsubscribe("floor/0/+", "screen0")
    publisher.publish()
"""


@pytest.mark.parametrize("later", [SECOND, ""], ids=["feeds", "no feeds"])
def test_other_engines_find_what_the_trie_holds(later: str) -> None:
    for name in ("duckdb", "datafusion", "polars", "deltalake", "pandas"):
        pytest.importorskip(name, reason="needs the extra `readers`")
    assert SECOND in READERS
    setup, *recipes, of_topics = [
        compile("\n" * snippet.line + snippet.text, str(PAGE), "exec")
        for snippet in snippets(READERS.replace(SECOND, later))
    ]
    begun: dict[str, Any] = {}
    exec(setup, begun)
    names = begun.copy()
    for recipe in recipes:
        alone = begun.copy()  # no recipe needs another
        exec(recipe, alone)
        names.update(alone)
    exec(of_topics, names)
    trie = names["trie"]
    right = sorted((held.filter, held.subscriber) for held in trie.subscriptions())
    assert len(right) == 100
    assert sorted(row[:2] for row in names["in_duckdb"].fetchall()) == right
    for frame in (names["in_datafusion"].to_pydict(), names["in_polars"], names["in_pandas"]):
        assert sorted(zip(frame["filter"], frame["subscriber"], strict=True)) == right
    assert len(snapshot.from_arrow(names["in_duckdb"].arrow(), MQTT)) == 100
    assert sorted(names["values"].fetchall()) == [
        ("room/1/heat", "utf8", "21.5"),
        ("room/2/heat", "json", '{"celsius": 19}'),
    ]


def test_delta_tables_have_what_was_published(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The newest set and all changes: with feeds and without, after retention, and beside publishers that take over."""
    deltalake, polars = (
        pytest.importorskip(name, reason="needs the extra `readers`") for name in ("deltalake", "polars")
    )

    for step in range(1, 16):
        trie, publisher = snapshot.take_over(tmp_path, MQTT, keep=3)
        with publisher:
            for turn in range(step % 5):
                trie.subscribe_many((f"a{turn}/{n}", f"s{n}", {"n": step}) for n in range(step, 500, 3))
                trie.unsubscribe(f"a0/{step}", f"s{step}")
                publisher.publish()
        for call in (snapshot.to_delta, snapshot.compact if step % 4 == 2 else snapshot.to_delta):
            assert call(tmp_path) == publisher.version
        # Who publishes four and keeps three lacks one.
        assert sum("lacks those of" in told for told in caplog.messages) == (step + 1) // 5
        store, versions = open_directory(tmp_path).store, snapshot.versions(tmp_path)
        names = ["_commit_version", "filter", "subscriber", "_change_type", "_commit_timestamp"]
        order = [(name, "ascending") for name in names]
        changes = (
            pa.concat_tables([feed_schema().empty_table(), *(read_feed(store, each) for each in versions if each.feed)])
            .select(names)
            .sort_by(order)
        )
        for where in (tmp_path, tmp_path / "changes"):
            table = deltalake.DeltaTable(where)
            # No commit if nothing is new; one more for each compaction.
            assert table.version() + 1 == step - step // 5 + (step + 2) // 4 * (where == tmp_path)
            with pytest.raises(deltalake.exceptions.CommitFailedError, match="subtrieOnePublisher"):
                deltalake.write_deltalake(where, changes, mode="append", schema_mode="merge")
            of_delta_rs = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
            plain = [table.to_pyarrow_table()] if where != tmp_path or step % 4 == 2 else []  # which has no vectors
            for rows in (pa.table(of_delta_rs), polars.scan_delta(str(where)).collect().to_arrow(), *plain):
                as_changes = rows.select(names).cast(changes.schema).sort_by(order) if where != tmp_path else None
                assert snapshot.from_arrow(rows, MQTT) == trie if as_changes is None else as_changes == changes


@pytest.mark.parametrize("rows", [[0], [7, 65_535, 65_536], range(0, 200_000, 3), range(5_000, 300_000)])
def test_a_deletion_vector_is_a_roaring_bitmap(rows: Any) -> None:
    pyroaring = pytest.importorskip("pyroaring", reason="needs the extra `bitmaps`")
    assert pyroaring.BitMap.deserialize(roaring(np.array(rows))) == pyroaring.BitMap(rows)


@pytest.mark.parametrize(("dialect", "first"), [(MQTT, 2**64), (NATS, "s")], ids=["MQTT", "NATS"])
def test_sql_alone_finds_what_the_trie_holds(
    tmp_path: Path, dialect: Dialect, first: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements of the page on published directories. Integers have one text in all files, whatever their size."""
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `readers`")
    script, whole = re.findall(r"```sql\n(.*?)```", READERS, re.DOTALL)
    monkeypatch.chdir(tmp_path)

    def in_duckdb() -> list[tuple[str, str]]:
        duck = duckdb.connect()
        *settings, question = filter(str.strip, script.split(";"))
        for each in settings:
            duck.execute(each)
        files = duck.execute("SELECT getvariable('files')").fetchone()[0]
        return sorted(row[:2] for row in duck.execute(whole if len(files) == 1 else question).fetchall())

    trie, publisher = snapshot.take_over("subscriptions", dialect)
    for step in range(6):
        trie.subscribe_many((f"a{number}", first + type(first)(step), {"n": number}) for number in range(5))
        trie.unsubscribe(f"a{step}", first + type(first)(0))
        if dialect.queue_groups:
            trie.subscribe("jobs", "s", queue=f"q{step}")
            trie.unsubscribe("jobs", "s", queue=f"q{step - 1}")
        publisher.publish()
        assert in_duckdb() == sorted((held.filter, str(held.subscriber)) for held in trie.subscriptions())
        if step == 3:
            publisher.close()
            trie, publisher = snapshot.take_over("subscriptions")
            assert len(in_duckdb()) == len(trie)
