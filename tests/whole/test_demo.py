"""The demonstration runs, and finds what is wrong with a set that is no instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import snapshot

pytestmark = [pytest.mark.slow, pytest.mark.once]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

demo = pytest.importorskip("examples.demo", reason="needs the extra `spark`")


def test_finds_no_fault(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.demonstrate(spark, 3, 2_000) == 0
    told = capsys.readouterr().out
    assert told.endswith("Spark: one instant, of each writer a prefix of its steps\n")
    assert "1 threads wrote, 2 matched" in told
    assert "; 0 answers were wrong\n" in told


@pytest.mark.parametrize("fault", ["lost", "of another instant", "on a wrong filter", "none"])
def test_tells_a_cut_from_what_is_none(spark: SparkSession, fault: str) -> None:
    trie = demo.Trie()
    writer = demo.Writer(trie, 0, ["a.b", "a.*", "c"])
    for step in range(3, 8):
        writer.change(trie.subscribe, step)
        writer.change(trie.unsubscribe, step - 3)
    done = [writer.completed]
    if fault == "lost":
        trie.unsubscribe("a.*", (0, 7))
    elif fault == "of another instant":
        writer.change(trie.subscribe, 8)
        writer.change(trie.unsubscribe, 5)
    elif fault == "on a wrong filter":
        trie.unsubscribe("a.*", (0, 7))
        trie.subscribe("a.b", (0, 7))
    rows = snapshot.to_spark(trie, spark, key=lambda one: f"{one[0]} {one[1]} {writer.filter_of(one[1])}")
    found = demo.faults(rows, [writer], done, done)
    assert [each.partition(":")[0] for each in found] == ([] if fault == "none" else ["writer 0"])
    trie.check()


@pytest.mark.parametrize("arguments", [["--threads", "1"], ["--messages", "0"]])
def test_refuses_what_makes_no_sense(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(arguments)
    assert "two threads and a message" in capsys.readouterr().err
