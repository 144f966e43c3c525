"""The benchmarks: their workloads have the stated properties, they measure what they say, and all of them run.

These tests only run the benchmarks to their ends; `make bench` measures. What they write into pages is in test_figures.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command_line
from benchmarks import beside, machine, matchers, options, report, results, runner, tables
from benchmarks.model import Benchmark, Contender, Group, Result
from benchmarks.suite import all_benchmarks
from benchmarks.workloads import growing_filters, long_filters, throughput_filters, throughput_topics
from ctrie import twin
from subtrie import AMQP

pytestmark = pytest.mark.once

FILTERS = throughput_filters()


def test_workloads_are_those_of_the_article() -> None:
    """Every tenth, 25th and 45th filter has a wildcard, and a topic matches its own filter and two more."""
    split = [AMQP.split_filter(filter) for filter in FILTERS]
    for number, words in enumerate(split):
        wild = [number % 10 == 0, number % 25 == 0, number % 45 == 0]
        place = wild.index(True) if any(wild) else None
        assert [word == "*" if at == place else word in "0123456789" for at, word in enumerate(words)] == [True] * 3
    topics = [AMQP.split_topic(topic) for topic in throughput_topics(FILTERS, 1_000)]
    assert all(AMQP.matches(split[number], topic) for number, topic in enumerate(topics))
    assert 2.9 < sum(AMQP.matches(filter, topic) for filter in split for topic in topics) / len(topics) < 3.3
    growing = list(growing_filters(10_000))
    assert growing[:100] == list(growing_filters(100))
    assert (len(split), len(set(growing)), len(set(long_filters(1_000)))) == (1_000, 10_000, 1_000)


# ---------------------------------------------------------------------------------------------------------- how it is run


def benchmark_of(groups: list[Group], **more: Any) -> Benchmark:
    return Benchmark(name="test", title="A test", operation="call", groups=lambda quick: iter(groups), **more)


def test_a_group_is_measured_in_turn_and_the_warm_up_is_dropped() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return float(len(order))

    group = [Contender(name, partial(measure, name), operations=2) for name in "ab"]
    measured = runner.run(benchmark_of([group], repeats=3), False, lambda doing: None)
    assert order == ["a", "b"] * 4
    assert measured == [Result("a", None, [1.5, 2.5, 3.5]), Result("b", None, [2.0, 3.0, 4.0])]
    assert measured[0].median == 2.5


ENTRANTS = (
    *(matchers.TRIE, matchers.UNDER_LOCK, matchers.LOCKED, matchers.NAIVE, matchers.INVERTED, matchers.OPTIMISED),
    *(matchers.FILTERING, matchers.PAHO, matchers.PAHO_UNDER_LOCK),
)


@pytest.mark.parametrize("entrant", ENTRANTS, ids=lambda entrant: entrant.name)
def test_entrants_do_the_same(entrant: matchers.Entrant) -> None:
    if not matchers.present([entrant]):
        pytest.skip(f"{entrant.name} is not installed")
    matcher, topics = matchers.filled(entrant, FILTERS), throughput_topics(FILTERS, 30)
    matchers.verify(entrant, matcher, FILTERS, topics)
    for number, filter in enumerate(map(entrant.text, FILTERS)):
        assert not matcher.subscribe(filter, number)
        assert matcher.unsubscribe(filter, number)
        assert not matcher.unsubscribe(filter, number)
    assert not any(matcher.match(entrant.text(topic)) for topic in topics)


def test_a_wrong_answer_stops_a_benchmark() -> None:
    with pytest.raises(AssertionError, match="wrong answer: SubscriptionTrie"):
        matchers.verify(
            matchers.TRIE, matchers.filled(matchers.TRIE, FILTERS[1:]), FILTERS, throughput_topics(FILTERS, 3)
        )


# -------------------------------------------------------------------------------------------------------- what comes of it


@pytest.fixture
def run() -> results.Run:
    measured = [
        Result("dict", 1, [1e-9, 3e-9, 2e-9]),
        Result("Ctrie", 1, [4e-9, 4e-9, 5e-9]),
        Result("dict", 1_000_000, [2e-7] * 3),
        Result("Ctrie", 1_000_000, [1e-7] * 3),
    ]
    benchmark = benchmark_of([], baseline="dict", x_label="keys", note="A note.")
    return results.finished(benchmark, machine.describe(), measured, 1.5)


def test_tables(run: results.Run) -> None:
    assert tables.table(run).splitlines() == [
        "|  | keys | ns per call | spread | ratio to dict |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| dict | 1 | 2 | 1 – 3 | 1.00 |",
        "| Ctrie | 1 | 4 | 4 – 5 | 2.00 |",
        "| dict | 1,000,000 | 200 | 200 – 200 | 1.00 |",
        "| Ctrie | 1,000,000 | 100 | 100 – 100 | 0.50 |",
    ]
    measured = [Result("Ctrie", 1, [2e-6]), Result("Ctrie", 2, [1e-6])]
    of_threads = replace(run, plot="scaling", baseline=None, x_label="threads", results=measured)
    assert tables.table(of_threads).splitlines()[2:] == [
        "| Ctrie | 1 | 2,000 | 2,000 – 2,000 | 500,000 | 1.00 |",
        "| Ctrie | 2 | 1,000 | 1,000 – 1,000 | 1,000,000 | 2.00 |",
    ]


@pytest.mark.parametrize(("load", "cores", "is_busy"), [(0.9, 2, False), (1.1, 2, True), (0.6, 1, True)])
def test_the_report_has_every_run_and_marks_those_on_a_busy_machine(
    run: results.Run, tmp_path: Path, load: float, cores: int, is_busy: bool
) -> None:
    one = replace(run, machine=run.machine | {"load_before": load, "cores": cores})
    both = [one, replace(one, tag="cp399t")]
    for each in both:
        results.save(each, tmp_path)
    report.write_list(tmp_path)
    report.write_pages(tmp_path, tmp_path)
    listed, text = (tmp_path / "index.md").read_text(), (tmp_path / f"{run.benchmark}.md").read_text()
    assert text.count("# A test\n") == 1
    assert all(f"![A test]({each.stem}.png)" in text for each in both)
    assert all(f"[{each.stem}]({each.stem}.json)" in listed for each in both)
    assert ("The machine was busy" in text, f"| {one.tag}, cp399t |" in listed) == (is_busy, is_busy)


# --------------------------------------------------------------------------------------------------------- the command line


def test_a_busy_machine_measures_nothing_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (40.0, 40.0, 40.0))
    monkeypatch.setattr(machine, "processors_in_use", lambda: 40.0)
    assert command_line.main(["snapshot", "--output", str(tmp_path)]) == 2
    assert "--busy" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


REFUSED: dict[str, tuple[Callable[[list[str]], int], list[str]]] = {
    "no benchmark is called nonsense; there are: ": (command_line.main, ["nonsense"]),
    "no folder subtrie": (beside.main, ["/nowhere"]),
    "no operation": (beside.main, [str(beside.HERE), "find"]),
    "at least 2": (beside.main, [str(beside.HERE), "--rounds", "1"]),
}


@pytest.mark.parametrize("word", REFUSED)
def test_arguments_that_make_no_sense_are_refused(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    main, arguments = REFUSED[word]
    with pytest.raises(SystemExit):
        main(arguments)
    assert word in capsys.readouterr().err


@pytest.mark.slow("each benchmark prepares what it measures, some for many seconds")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", all_benchmarks())
def test_every_benchmark_runs(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command_line.main([name, "--quick", "--output", str(tmp_path)]) == 0
    assert all_benchmarks()[name].title in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.docs
@pytest.mark.skipif(twin == "interpreted", reason="of the compiled modules")
@pytest.mark.parametrize("kind", options.KINDS)
def test_a_subscription_takes_the_memory_that_the_page_says(kind: str) -> None:
    """Within a seventh: the process has other things in its memory, too."""
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text("utf-8")
    said = dict(re.findall(r"^\| (.*) \| (\d+) \|$", page, re.MULTILINE))[kind]
    assert options.in_a_process(kind, 100_000) == pytest.approx(int(said), rel=0.15)
