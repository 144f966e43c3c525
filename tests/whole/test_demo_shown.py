"""What a demonstration shows while it runs, and the page that it leaves; without Spark, with made-up numbers."""

from __future__ import annotations

import io
import time
from html.parser import HTMLParser
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from examples.demo.command import main
from examples.demo.page import require_place, write_page
from examples.demo.publish import CHUNK, MessagePublisher
from examples.demo.view import curve, drawn, terminal_view, waiting
from examples.demo.watch import INTERVAL, Sample, Watch
from examples.demo.workload import openamq

rich_console = pytest.importorskip("rich.console")
pytestmark = pytest.mark.once

MOMENTS = [
    "a snapshot was taken in 3.0 microseconds",
    "2,000 rows of it are in Spark",
    "Spark finds the cut consistent",
    "Spark has answered what it was asked",
]


def crew(moments: int, faults: tuple[str, ...] = ()) -> Any:
    """A replacement for the object that a crew's numbers are read from."""
    now = time.perf_counter()
    publishers = [SimpleNamespace(messages=600, matches=1200, seconds=0.5, checked=600, wrong=0) for _ in range(2)]
    writers = [SimpleNamespace(completed=500, slots=100)]
    exporter = SimpleNamespace(
        moments=[(now + number, what) for number, what in enumerate(MOMENTS[:moments])],
        faults=list(faults),
        snapshot_us=3.0,
        rows=2_000,
        messages_meanwhile=77,
        top_filters=[("a.<b>", 7), ("#", 3)],
        top_topics=[("a.b & c", 9)],
    )
    return SimpleNamespace(
        publishers=publishers, writers=writers, exporter=exporter, fill_seconds=1.0, churn_seconds=2.0
    )


def watched(moments: int = 4, total: int | None = 2_000) -> Watch:
    watch = Watch(crew(moments), total)
    watch.samples = [Sample(0.0, 0, 0, 0), Sample(0.5, 200, 400, 100), Sample(1.0, 1_200, 2_400, 500)]
    return watch


class TestWatch:
    def test_rates_are_what_was_done_in_a_second(self) -> None:
        assert [tuple(rate) for rate in watched().rates()] == [(0.5, 400, 800, 200), (1.0, 2_000, 4_000, 800)]

    def test_looks_for_as_long_as_its_context_lasts(self) -> None:
        watch = Watch(crew(0), None)
        with watch:
            while len(watch.samples) < 3:
                time.sleep(INTERVAL)
        taken = list(watch.samples)
        assert taken == sorted(taken)
        assert taken[0][1:] == (1_200, 2_400, 500)
        assert not watch._thread.is_alive()

    def test_ends_with_an_exception_of_its_context(self) -> None:
        watch = Watch(crew(0), None)
        with pytest.raises(ZeroDivisionError), watch:
            raise ZeroDivisionError
        assert not watch._thread.is_alive()


class TestView:
    def shown(self, watch: Watch) -> str:
        console = rich_console.Console(file=io.StringIO(), width=100)
        console.print(drawn(watch))
        return str(console.file.getvalue())

    @pytest.mark.parametrize(
        ("moments", "doing"),
        [(0, "before the snapshot"), (1, "exporting"), (2, "Spark judges"), (3, "asking Spark"), (4, "has answered")],
    )
    def test_says_what_has_happened_and_what_is_being_done(self, moments: int, doing: str) -> None:
        shown = self.shown(watched(moments))
        assert doing in shown
        assert all((what in shown) == (number < moments) for number, what in enumerate(MOMENTS))
        for number in ("1,200 of 2,000", "1 threads subscribe", "2 match", "1,200 "):
            assert number in shown

    def test_counts_without_an_end_where_none_is_known_or_it_is_passed(self) -> None:
        assert " of " not in self.shown(watched(0, None))
        assert "1,200 of 1,000" not in self.shown(watched(0, 1_000))

    def test_a_curve_is_high_where_the_values_are(self) -> None:
        assert curve([0, 1, 4, 8]) == "▁▂▅█"
        assert curve([]) == ""
        assert curve([0, 0]) == "▁▁"
        assert len(curve(list(range(1_000)))) == 40

    def test_is_drawn_on_a_terminal_and_taken_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = self.terminal(monkeypatch, True)
        with terminal_view(watched()), waiting("starting Spark"):
            pass
        assert "messages matched" in terminal.getvalue()

    @pytest.mark.parametrize(("on_a_terminal", "shown"), [(False, True), (True, False)])
    def test_is_not_drawn_elsewhere(self, on_a_terminal: bool, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = self.terminal(monkeypatch, on_a_terminal)
        with terminal_view(watched(), shown=shown):
            pass
        if not on_a_terminal:
            with waiting("starting Spark"):
                pass
        assert terminal.getvalue() == ""

    def terminal(self, monkeypatch: pytest.MonkeyPatch, is_one: bool) -> io.StringIO:
        terminal = io.StringIO()
        terminal.isatty = lambda: is_one  # type: ignore[method-assign]
        monkeypatch.setattr("sys.stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        return terminal


class Page(HTMLParser):
    """The texts of a page; also checks that each of its elements ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


class TestPage:
    def page(self, path: Path, faults: tuple[str, ...] = ()) -> Page:
        watch = watched()
        watch.crew = crew(4, faults)
        outcome: Any = SimpleNamespace(
            watch=watch,
            crew=watch.crew,
            exporter=watch.crew.exporter,
            writers=watch.crew.writers,
            publishers=watch.crew.publishers,
            is_good=not faults,
        )
        write_page(path, outcome, "A test of <three> lines.")
        return Page(path.read_text(encoding="utf-8"))

    def test_has_all_of_it_and_needs_nothing_else(self, tmp_path: Path) -> None:
        page = self.page(tmp_path / "page.html")
        shown = "\n".join(page.texts)
        for text in (
            *MOMENTS,
            "A test of <three> lines.",
            "a.<b>",
            "a.b & c",
            "2 k",
            "No match was wrong",
            "77 messages",
        ):
            assert text in shown  # fmt: skip
        assert (page.open, page.links) == ([], [])
        assert [path.name for path in tmp_path.iterdir()] == ["page.html"]

    def test_says_what_is_wrong(self, tmp_path: Path) -> None:
        shown = "\n".join(self.page(tmp_path / "page.html", ("writer 0 <lost> a step",)).texts)
        assert "Something is wrong." in shown
        assert "writer 0 <lost> a step" in shown

    def test_takes_the_place_of_an_earlier_one_whole(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "page.html").write_text("earlier")
        require_place(tmp_path / "page.html")
        monkeypatch.setattr("examples.demo.page._page", lambda *_: iter([1]))
        with pytest.raises(TypeError):
            self.page(tmp_path / "page.html")
        assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]

    def test_that_cannot_be_written_is_refused_before_anything_is_done(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["--html", str(tmp_path / "none" / "page.html")]) == 2
        shown = capsys.readouterr()
        assert (shown.out, "No such file or directory" in shown.err) == ("", True)
        require_place(tmp_path / "page.html")
        assert list(tmp_path.iterdir()) == []


def test_a_publisher_goes_on_until_it_is_told() -> None:
    from threading import Barrier

    from subtrie import SubscriptionTrie

    workload, trie, judged, seen = openamq(filters=50, seed=1), SubscriptionTrie(), Event(), []
    for number, filter in enumerate(workload.filters):
        trie.subscribe(filter, number)
    publisher = MessagePublisher(workload, messages=150, writers=1, seed="1", until=judged)

    def matched() -> None:
        seen.append(publisher.messages)
        if publisher.messages > 1_000:
            judged.set()

    publisher.run(trie, Barrier(1), Barrier(1), matched)
    assert seen == [CHUNK, 150, *range(250, 1_051, CHUNK)]
    assert (publisher.checked, publisher.wrong) == (1_050, 0)
    trie.check()
