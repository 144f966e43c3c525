"""Other readers of a published directory, on the page about its format: its lines run, and find what the trie holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import snapshot
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
    for name in ("duckdb", "datafusion", "polars", "pandas"):
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


def test_a_delta_table_has_what_was_compacted(tmp_path: Path) -> None:
    """Also after retention has removed earlier files, and beside publishers that take over."""
    deltalake = pytest.importorskip("deltalake", reason="needs the extra `readers`")
    polars = pytest.importorskip("polars", reason="needs the extra `readers`")
    log = tmp_path / "full" / "_delta_log" / f"{0:020}.json"
    for step in range(12):
        trie, publisher = snapshot.take_over(tmp_path, MQTT, keep=1)
        with publisher:
            trie.subscribe_many((f"a{step % 3}/{n}", f"s{n}", {"n": step}) for n in range(500))
            publisher.publish()
            for _ in range(2):
                snapshot.compact(tmp_path)
        right = sorted((one.filter, one.subscriber, str(one.options["n"])) for one in trie.subscriptions())
        log.write_text(log.read_text().replace("types", "words"))  # as an earlier version, with other columns, began it
        table = deltalake.DeltaTable(tmp_path / "full")
        assert table.version() == step
        for rows in (
            table.to_pyarrow_table().to_pylist(),
            polars.scan_delta(str(tmp_path / "full")).collect().to_arrow().to_pylist(),
        ):
            found = [(row["filter"], row["subscriber"], _value(row["options"])) for row in rows]
            assert (sorted(found), "types" in rows[0]) == (right, step > 0)


def _value(options: list[Any]) -> str:
    """The value of the only option, as a pair or a structure."""
    (pair,) = options
    return str(pair["value"] if isinstance(pair, dict) else pair[1])


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
