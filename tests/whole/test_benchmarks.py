"""The benchmarks: their workloads have the stated properties, they measure what they say, and all of them run."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier, Event, get_ident
from typing import Any

import pytest
from rich.console import Console

from benchmarks import __main__ as command_line
from benchmarks import (
    answers,
    beside,
    machine,
    matchers,
    options,
    plots,
    readme,
    report,
    results,
    runner,
    tables,
)
from benchmarks.__main__ import main
from benchmarks.model import Benchmark, Contender, Group, OneRun, Result
from benchmarks.suite import adopted, all_benchmarks, map_scaling, mixed, scaling, tail, writers
from benchmarks.threads import timed_in_threads
from benchmarks.workloads import growing_filters, long_filters, throughput_filters, throughput_topics
from ctrie import twin
from subtrie import AMQP
from tests.brokers import server
from tests.threads import run_together

pytestmark = pytest.mark.once  # these tests only run the benchmarks to their ends; `make bench` measures


class TestWorkloads:
    def test_throughput_filters(self) -> None:
        filters = [AMQP.split_filter(filter) for filter in throughput_filters()]
        assert len(filters) == 1_000
        for number, words in enumerate(filters):
            wild = [number % 10 == 0, number % 25 == 0, number % 45 == 0]
            place = wild.index(True) if any(wild) else None
            assert len(words) == 3
            assert all(word == "*" if at == place else word in "0123456789" for at, word in enumerate(words))

    def test_throughput_topics_match_the_filters_in_turn_and_three_in_all(self) -> None:
        filters = throughput_filters()
        split = [AMQP.split_filter(filter) for filter in filters]
        topics = [AMQP.split_topic(topic) for topic in throughput_topics(filters, 1_000)]
        assert all(AMQP.matches(split[number], topic) for number, topic in enumerate(topics))
        matches = sum(AMQP.matches(filter, topic) for filter in split for topic in topics)
        assert 2.9 < matches / len(topics) < 3.3

    def test_other_filters_differ(self) -> None:
        assert len(set(long_filters(1_000))) == 1_000
        growing = list(growing_filters(10_000))
        assert growing[:100] == list(growing_filters(100))
        assert len(set(growing)) == 10_000
        assert {len(AMQP.split_filter(filter)) for filter in growing} == {5}


def _benchmark(groups: list[Group], **more: Any) -> Benchmark:
    def build(quick: bool) -> Iterator[Group]:
        yield from groups

    return Benchmark(name="test", title="A test", operation="call", groups=build, **more)


class TestRunner:
    def test_measures_a_group_in_turn_and_drops_the_warm_up(self) -> None:
        order: list[str] = []

        def measure(name: str) -> float:
            order.append(name)
            return float(len(order))

        group = [Contender(name, partial(measure, name), operations=2) for name in "ab"]
        measured = runner.run(_benchmark([group], repeats=3), False, lambda doing: None)
        assert order == ["a", "b"] * 4
        assert measured == [Result("a", None, [1.5, 2.5, 3.5]), Result("b", None, [2.0, 3.0, 4.0])]
        assert measured[0].median == 2.5

    def test_builds_a_group_when_the_one_before_is_done_and_dropped(self) -> None:
        built: list[Group] = []

        def groups(quick: bool) -> Iterator[Group]:
            for name in "ab":
                assert not any(built)
                built.append([Contender(name, lambda: 1.0, 1)])
                yield built[-1]

        benchmark = replace(_benchmark([]), groups=groups)
        assert [result.series for result in runner.run(benchmark, True, lambda doing: None)] == ["a", "b"]

    def test_one_run_hands_out_its_values_in_order(self) -> None:
        runs = iter([[1.0, 2.0], [3.0, 4.0]])
        shared = OneRun(lambda: next(runs))
        assert [shared.next() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]

    def test_threads_prepare_for_themselves(self) -> None:
        prepared: dict[int, int] = {}
        worked: dict[int, int] = {}

        def prepare(number: int) -> Any:
            prepared[number] = get_ident()
            return lambda: worked.__setitem__(number, get_ident())

        assert timed_in_threads(4, prepare) > 0
        assert worked == prepared
        assert len(set(worked.values())) == 4


class OwnOnly:
    """Stands in for a matcher or a map that threads share, and notes what each thread uses of it.

    On free-threaded Python a string or a bound method that another thread has made is slower to use, so a benchmark
    in which threads shared one would measure that.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.texts: dict[int, set[int]] = defaultdict(set)
        self.kept: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., bool]:
        if name not in ("match", "subscribe", "unsubscribe"):
            raise AttributeError(name)
        maker = get_ident()

        def bound(text: str, *_: object) -> bool:
            assert get_ident() == maker, f"a thread uses the {name} that another one has made"
            self.note(text)
            return True

        return bound

    def __getitem__(self, key: str) -> None:
        self.note(key)

    def __setitem__(self, key: str, _: object) -> None:
        self.note(key)

    def note(self, text: str) -> None:
        self.calls += 1
        self.kept.append(text)  # otherwise its address could be used again
        self.texts[get_ident()].add(id(text))

    def check(self) -> None:
        assert self.calls
        together = [text for texts in self.texts.values() for text in texts]
        assert len(together) == len(set(together)), "threads share a string"


FILTERS = throughput_filters()


@pytest.mark.parametrize(
    "prepare",
    [
        lambda shared, thread: scaling._matching(shared, FILTERS, 50, 2, thread),
        lambda shared, thread: mixed._work(matchers.TRIE, shared, FILTERS, 50, thread),
        lambda shared, thread: mixed._work(matchers.PAHO_UNDER_LOCK, shared, FILTERS, 50, thread),
        lambda shared, thread: map_scaling._work(shared, 50, 50, 2, thread),
    ],
    ids=["scaling", "mixed", "mixed, translated", "map-scaling"],
)
def test_threads_use_strings_and_bound_methods_of_their_own(prepare: Callable[[OwnOnly, int], Any]) -> None:
    shared = OwnOnly()
    timed_in_threads(4, partial(prepare, shared))
    assert len(shared.texts) == 4
    shared.check()


def test_readers_and_writer_of_a_burst_use_strings_and_bound_methods_of_their_own() -> None:
    shared, filters = OwnOnly(), throughput_filters()
    together, done = Barrier(3), Event()
    run_together(
        [
            lambda: tail._read(shared, filters, together, done, seed=1),
            lambda: tail._read(shared, filters, together, done, seed=2),
            lambda: tail._write(shared, 50, together, done),
        ]
    )
    assert len(shared.texts) == 3
    shared.check()


def test_reader_and_writer_use_strings_and_bound_methods_of_their_own() -> None:
    shared = OwnOnly()
    assert all(seconds > 0 for seconds in writers._both(matchers.TRIE, shared, throughput_filters(), 0.01))
    assert len(shared.texts) == 2
    shared.check()


@pytest.fixture
def run() -> results.Run:
    measured = [
        Result("dict", 1, [1e-9, 3e-9, 2e-9]),
        Result("Ctrie", 1, [4e-9, 4e-9, 5e-9]),
        Result("dict", 1_000_000, [2e-7] * 3),
        Result("Ctrie", 1_000_000, [1e-7] * 3),
    ]
    benchmark = _benchmark([], baseline="dict", x_label="keys", note="A note.")
    return results.finished(benchmark, machine.describe(), measured, 1.5)


class TestResults:
    def test_come_back_from_their_file(self, run: results.Run, tmp_path: Path) -> None:
        results.save(run, tmp_path)
        assert results.load_all(tmp_path) == [run]

    def test_say_on_what_they_were_measured_but_not_where(self, run: results.Run, tmp_path: Path) -> None:
        import platform

        results.save(run, tmp_path)
        text = (tmp_path / f"{run.stem}.json").read_text()
        described = json.loads(text)["machine"]
        assert described["cores"] >= 1
        assert described["gil"] in (True, False)
        assert {"cpu", "python", "twin", "packages", "programs", "memory_gib"} <= described.keys()
        assert platform.node() not in text
        assert str(Path.cwd()) not in text

    def test_table(self, run: results.Run) -> None:
        assert tables.table(run).splitlines() == [
            "|  | keys | ns per call | spread | ratio to dict |",
            "| --- | ---: | ---: | ---: | ---: |",
            "| dict | 1 | 2 | 1 – 3 | 1.00 |",
            "| Ctrie | 1 | 4 | 4 – 5 | 2.00 |",
            "| dict | 1,000,000 | 200 | 200 – 200 | 1.00 |",
            "| Ctrie | 1,000,000 | 100 | 100 – 100 | 0.50 |",
        ]

    def test_table_of_threads(self, run: results.Run) -> None:
        scaling = replace(
            run,
            plot="scaling",
            baseline=None,
            x_label="threads",
            results=[Result("Ctrie", 1, [2e-6]), Result("Ctrie", 2, [1e-6])],
        )
        assert tables.table(scaling).splitlines()[2:] == [
            "| Ctrie | 1 | 2,000 | 2,000 – 2,000 | 500,000 | 1.00 |",
            "| Ctrie | 2 | 1,000 | 1,000 – 1,000 | 1,000,000 | 2.00 |",
        ]

    @pytest.mark.parametrize("plot", ["bars", "growth", "scaling"])
    def test_plot(self, run: results.Run, plot: str, tmp_path: Path) -> None:
        plots.draw(replace(run, plot=plot), tmp_path)
        assert (tmp_path / f"{run.stem}.png").read_bytes().startswith(b"\x89PNG")

    def test_report_has_every_run(self, run: results.Run, tmp_path: Path) -> None:
        other = replace(run, tag="cp399t")
        for one in (run, other):
            results.save(one, tmp_path)
        report.write_list(tmp_path)
        report.write_pages(tmp_path, pages := tmp_path / "pages")
        listed, text = (tmp_path / "index.md").read_text(), (pages / f"{run.benchmark}.md").read_text()
        assert text.count("# A test\n") == 1
        for one in (run, other):
            assert f"![A test]({one.stem}.png)" in text
            assert (pages / f"{one.stem}.png").exists()
            assert f"[{one.stem}]({one.stem}.json)" in listed

    @pytest.mark.parametrize(
        ("load", "cores", "is_busy"), [(0.9, 2, False), (1.1, 2, True), (38.6, 2, True), (0.6, 1, True)]
    )
    def test_a_run_on_a_busy_machine_is_marked(
        self, run: results.Run, tmp_path: Path, load: float, cores: int, is_busy: bool
    ) -> None:
        one = replace(run, machine=run.machine | {"load_before": load, "cores": cores})
        results.save(one, tmp_path)
        report.write_list(tmp_path)
        report.write_pages(tmp_path, tmp_path)
        assert ("The machine was busy" in (tmp_path / f"{run.benchmark}.md").read_text()) is is_busy
        assert (f"| {one.tag} |" in (tmp_path / "index.md").read_text()) is is_busy

    def test_a_busy_machine_measures_nothing_unless_told(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("os.getloadavg", lambda: (40.0, 40.0, 40.0))
        monkeypatch.setattr(machine, "processors_in_use", lambda: 40.0)
        assert main(["snapshot", "--output", str(tmp_path)]) == 2
        assert "--busy" in capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []


@pytest.mark.once
def test_the_work_of_another_process_counts() -> None:
    code = "print('on', flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            assert 0.5 < machine.processors_in_use(1) < 2 * (os.cpu_count() or 1)
        finally:
            other.kill()


class TestAnswers:
    """The pictures and sentences of the manual and the README, from the results that are kept."""

    FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"

    def test_the_pages_say_what_the_results_say(self, tmp_path: Path) -> None:
        runs = results.load_all(self.FOLDER)
        for page, begin, write in (
            (answers.PAGE, answers.BEGIN, answers.write_answers),
            (readme.README, readme.BEGIN, readme.write_figures),
        ):
            kept = (self.FOLDER.parents[1] / page).read_text()
            assert kept.count(begin) == 1
            copy = tmp_path / page.name
            copy.write_text(kept)
            folder = tmp_path / "docs" / "benchmarks"
            folder.mkdir(parents=True, exist_ok=True)
            write(runs, Path("docs/benchmarks") if write is readme.write_figures else folder, copy)
            assert copy.read_text() == kept, "run `python -m benchmarks --pages`"

    @pytest.mark.parametrize("question", answers.QUESTIONS, ids=lambda question: question.name)
    def test_a_picture_shows_each_contender_in_its_colour(self, question: answers.Question) -> None:
        picture = (self.FOLDER / f"answer-{question.name}.svg").read_text()
        for bar in question.bars:
            assert answers.COLOURS[bar.label] in picture
            assert bar.label in picture.replace("&#x27;", "'")
        assert "prefers-color-scheme:dark" in picture

    def test_a_contender_that_was_not_measured_is_left_out(self, tmp_path: Path) -> None:
        """Of the others, the picture and the sentences say what they said."""
        (question,) = (one for one in answers.QUESTIONS if one.name == answers.PICTURE)
        run = next(run for run in results.load_all(self.FOLDER) if run.stem == question.stem)
        without = dataclasses.replace(run, results=[one for one in run.results if "NATS" not in one.series])
        page = tmp_path / "page.md"
        page.write_text(f"{answers.BEGIN}\n{answers.END}\n")
        answers.write_answers([without], tmp_path, page)
        assert "as with paho's matcher." in page.read_text()
        assert "NATS" not in page.read_text() + (tmp_path / f"answer-{question.name}.svg").read_text()


@pytest.mark.parametrize(
    "entrant",
    [
        matchers.TRIE,
        matchers.UNDER_LOCK,
        matchers.LOCKED,
        matchers.NAIVE,
        matchers.INVERTED,
        matchers.OPTIMISED,
        matchers.FILTERING,
        matchers.PAHO,
        matchers.PAHO_UNDER_LOCK,
    ],
    ids=lambda entrant: entrant.name,
)
def test_entrants_do_the_same(entrant: matchers.Entrant) -> None:
    if not matchers.present([entrant]):
        return
    filters = throughput_filters()
    matcher = matchers.filled(entrant, filters)
    topics = throughput_topics(filters, 30)
    matchers.verify(entrant, matcher, filters, topics)
    for number, filter in enumerate(filters):
        assert not matcher.subscribe(entrant.text(filter), number)
        assert matcher.unsubscribe(entrant.text(filter), number)
        assert not matcher.unsubscribe(entrant.text(filter), number)
    assert not any(matcher.match(entrant.text(topic)) for topic in topics)  # fmt: skip


def test_a_wrong_answer_stops_a_benchmark() -> None:
    filters = throughput_filters()
    matcher = matchers.filled(matchers.TRIE, filters[1:])
    with pytest.raises(AssertionError, match="wrong answer: SubscriptionTrie"):
        matchers.verify(matchers.TRIE, matcher, filters, throughput_topics(filters, 3))


def test_an_absent_entrant_is_left_out_with_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    def make() -> Any:
        raise ModuleNotFoundError("No module named 'nowhere'")

    absent = matchers.Entrant("nobody", make)
    assert matchers.present([absent, matchers.TRIE]) == [matchers.TRIE]
    assert capsys.readouterr().out == "nobody left out: No module named 'nowhere'\n"


class TestBrokers:
    def test_a_server_that_does_not_start_says_why(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        program = [sys.executable, "-c", "import sys; sys.exit('no such option')"]
        with (
            pytest.raises(RuntimeError, match="the server did not start:\nno such option"),
            server.running(program, log) as is_alive,
        ):
            server.wait_until(lambda: False, is_alive, log)

    def test_a_server_is_gone_when_the_block_ends(self, tmp_path: Path) -> None:
        port, log = server.free_port(), tmp_path / "log"
        program = [
            sys.executable,
            "-m",
            "http.server",
            str(port),
            "--bind",
            server.LOOPBACK,
            "--directory",
            str(tmp_path),
        ]
        with server.running(program, log) as is_alive:
            server.wait_until(lambda: server.accepts_connections(port), is_alive, log)
        assert not is_alive()
        assert not server.accepts_connections(port)


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["nonsense"])
    assert "no benchmark is called nonsense; there are: " in capsys.readouterr().err


def test_the_list_has_a_line_for_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    assert command_line.main(["--list"]) == 0

    listed = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in listed] == [
        [each.name, each.title] for each in all_benchmarks().values()
    ]


def test_of_what_is_not_installed_keeps_the_earlier_results(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(adopted, "missing", lambda: "amqtt is not installed")
    (tmp_path / f"adopted-{machine.tag()}.json").write_text("kept")
    command_line._run_all([all_benchmarks()["adopted"]], tmp_path, Console(), quick=True)
    assert "amqtt left out" in capsys.readouterr().out
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", all_benchmarks())
def test_every_benchmark_runs(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command_line.main([name, "--quick", "--output", str(tmp_path)]) == 0
    assert all_benchmarks()[name].title in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.once
@pytest.mark.skipif(twin == "interpreted", reason="of the compiled modules")
@pytest.mark.parametrize("kind", options.KINDS)
def test_a_subscription_takes_the_memory_that_the_page_says(kind: str) -> None:
    """Within a seventh: the process has other things in its memory, too."""
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    (said,) = (int(row[1]) for row in re.findall(r"^\| (.*) \| (\d+) \|$", page, re.MULTILINE) if row[0] == kind)
    assert options.in_a_process(kind, 100_000) == pytest.approx(said, rel=0.15)


class TestBeside:
    """Two checkouts in alternation; here a checkout beside itself."""

    def test_tells_the_ratio_of_each_operation(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert beside.main([str(beside.HERE), "match", "--rounds", "2"]) == 0
        shown = capsys.readouterr().out
        assert "match" in shown and re.search(r"\d\.\d\d to \d", shown)

    def test_an_operation_that_one_of_them_lacks_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        beside._print([{"get": 1.0}] * 2, [{"get": float("nan")}] * 2)
        assert "not in both" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [(["/nowhere"], "no folder subtrie"), ([".", "find"], "no operation"), ([".", "--rounds", "1"], "at least 2")],
    )
    def test_says_what_is_wrong_with_its_arguments(
        self, arguments: list[str], word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(beside.HERE)
        with pytest.raises(SystemExit):
            beside.main(arguments)
        assert word in capsys.readouterr().err
