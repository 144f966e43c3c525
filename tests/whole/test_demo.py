"""The demonstration: its workload, the shape of a consistent cut, and that it shows faults and failures."""

from __future__ import annotations

import io
import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from examples.demo import command
from examples.demo.crew import Crew
from examples.demo.cut import NOTHING, Holding, faults, holdings_in_spark, standing_faults, step_key
from examples.demo.export import Exporter
from examples.demo.feed import Feed
from examples.demo.parts import run_files, run_workload
from examples.demo.publish import MessagePublisher
from examples.demo.report import report
from examples.demo.steps import Writer, held_after, operations_behind, writers_for
from examples.demo.watch import Watch
from examples.demo.workload import openamq
from subtrie import AMQP, SubscriptionTrie
from subtrie.cli.lines import BadLines, LineFile

pytestmark = [pytest.mark.slow, pytest.mark.once]  # Spark and processes start; the twin and the build do not matter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def unseen(watch: Watch) -> AbstractContextManager[None]:
    return nullcontext()


def perform(trie: SubscriptionTrie, writer: Writer, operations: int) -> None:
    """Do a writer's next operations, one by one."""
    for _ in range(operations):
        done = writer.completed
        pairs, half = divmod(done - writer.slots, 2)
        if done < writer.slots:
            writer._subscribe(trie, done)
        elif not half:
            writer._subscribe(trie, writer.slots + pairs)
        else:
            writer._unsubscribe(trie, pairs)


class TestWorkload:
    def test_counts_the_matches_of_each_topic_as_the_dialect_does(self) -> None:
        workload = openamq(filters=50, seed=3)
        filters = [AMQP.split_filter(filter) for filter in workload.filters]
        for topic, matching in zip(workload.topics[:100], workload.matching, strict=False):
            assert matching == sum(AMQP.matches(filter, AMQP.split_topic(topic)) for filter in filters)

    def test_has_the_published_size(self) -> None:
        workload = openamq(command.FILTERS, command.SEED)
        assert len(workload.filters) == 2_000
        assert len(set(workload.topics)) == len(workload.matching) == 2_000
        assert 165 < sum(workload.matching) / 2_000 < 175

    def test_has_filters_with_both_wildcards(self) -> None:
        filters = openamq(filters=200, seed=1).filters
        assert any("*" in filter for filter in filters)
        assert any(filter.endswith("#") for filter in filters)

    def test_is_made_again_by_its_seed(self) -> None:
        assert openamq(filters=100, seed=5) == openamq(filters=100, seed=5)
        assert openamq(filters=100, seed=5) != openamq(filters=100, seed=6)


class TestSteps:
    @pytest.mark.parametrize("slots", [1, 2, 3, 7])
    def test_leave_what_the_formula_says(self, slots: int) -> None:
        trie, writer = SubscriptionTrie(), Writer(0, [f"slot.{number}" for number in range(slots)])
        for operations in range(5 * slots):
            held = {held.subscriber[1] for held in trie.subscriptions()}
            assert held == set(held_after(operations, slots))
            assert all(held.filter == f"slot.{held.subscriber[1] % slots}" for held in trie.subscriptions())
            perform(trie, writer, 1)
        trie.check()

    @pytest.mark.parametrize("slots", [1, 2, 3, 7])
    def test_leave_something_else_after_every_operation(self, slots: int) -> None:
        left = [held_after(operations, slots) for operations in range(10 * slots)]
        assert len(set(left)) == len(left)

    @pytest.mark.parametrize("slots", [1, 2, 3, 7])
    def test_are_told_from_what_they_leave(self, slots: int) -> None:
        for operations in range(10 * slots):
            held = held_after(operations, slots)
            assert operations_behind(held.start, len(held), slots) == operations

    @pytest.mark.parametrize("slots", [1, 2, 3, 7])
    def test_leave_no_other_ranges(self, slots: int) -> None:
        left = {held_after(operations, slots) for operations in range(100 * slots)}
        for first, count in itertools.product(range(20), range(20)):
            if count and range(first, first + count) not in left:
                assert operations_behind(first, count, slots) is None

    def test_are_done_by_as_many_writers_as_have_a_filter(self) -> None:
        assert [writer.filters for writer in writers_for(["a", "b", "c"], 2)] == [["a", "c"], ["b"]]
        assert [writer.filters for writer in writers_for(["a"], 2)] == [["a"]]
        assert writers_for([], 2) == []


def holding(steps: set[int], misplaced: int = 0) -> Holding:
    return Holding(len(steps), len(steps), min(steps), max(steps), misplaced) if steps else NOTHING


class TestJudgement:
    def test_finds_no_fault_with_a_prefix(self) -> None:
        assert faults({0: holding({4, 5, 6})}, slots=[3], before=[11], after=[11]) == []

    @given(st.integers(1, 6), st.sets(st.integers(0, 12)))
    def test_finds_fault_with_everything_that_is_no_prefix(self, slots: int, steps: set[int]) -> None:
        prefixes = [set(held_after(operations, slots)) for operations in range(40)]
        found = faults({0: holding(steps)}, [slots], before=[0], after=[40])
        assert (not found) == (steps in prefixes)

    @pytest.mark.parametrize(
        "torn",
        [
            holding({4, 6, 7}),  # a gap
            holding({4, 5}),  # one too few
            holding({4, 5, 6, 7, 8}),  # two too many; a walk that overtakes the writer sees this
            holding({4, 5, 6}, misplaced=1),
            Holding(rows=4, distinct=3, first=4, last=6, misplaced=0),  # one twice
            NOTHING._replace(rows=1),
        ],
    )
    def test_finds_fault_with_a_torn_cut(self, torn: Holding) -> None:
        (fault,) = faults({0: holding({0, 1, 2}), 1: torn}, [3, 3], before=[3, 0], after=[3, 100])
        assert fault.startswith("writer 1: no prefix of its operations on 3 slots leaves")

    def test_finds_fault_with_a_cut_of_another_time(self) -> None:
        cut = {0: holding({4, 5, 6})}
        assert faults(cut, [3], before=[12], after=[20]) == [
            "writer 0: the cut is after 11 operations, but it was taken between 12 and 21"
        ]
        assert faults(cut, [3], before=[0], after=[9]) == [
            "writer 0: the cut is after 11 operations, but it was taken between 0 and 10"
        ]
        # Only the cut tells whether an operation that had begun was in time.
        assert faults(cut, [3], before=[0], after=[10]) == []

    def test_finds_fault_with_a_writer_that_is_missing_and_with_one_too_many(self) -> None:
        assert faults({1: holding({0, 1, 2})}, [3], before=[3], after=[5]) == [
            "there is no writer 1",
            "writer 0: the cut is after 0 operations, but it was taken between 3 and 6",
        ]


class TestJudgementInSpark:
    def test_sees_of_each_writer_what_it_holds(self, spark: SparkSession) -> None:
        trie, writers = SubscriptionTrie(), writers_for([f"f.{number}" for number in range(5)], 2)
        perform(trie, writers[0], 10)
        perform(trie, writers[1], 2)
        assert holdings_in_spark(exported(trie, spark), writers) == {
            0: holding(set(held_after(10, 3))),
            1: holding(set(held_after(2, 2))),
        }
        trie.check()

    def test_finds_fault_with_rows_from_two_instants(self, spark: SparkSession) -> None:
        trie, writers = SubscriptionTrie(), writers_for([f"f.{number}" for number in range(20)], 2)
        for writer in writers:
            perform(trie, writer, 31)
        early = exported(trie, spark).cache()
        assert self.judge(early, writers) == []
        for writer in writers:
            perform(trie, writer, 10)
        late = exported(trie, spark).cache()
        assert self.judge(late, writers) == []
        torn = early.where("filter < 'f.15'").union(late.where("filter >= 'f.15'"))
        assert [fault.split(" of ")[0] for fault in self.judge(torn, writers)] == [
            "writer 0: no prefix",
            "writer 1: no prefix",
        ]
        trie.check()

    @pytest.mark.parametrize("lost", ["writer-0\tstep-0", "writer-0\tstep-4", "writer-0\tstep-9"])
    def test_finds_fault_with_a_lost_row(self, spark: SparkSession, lost: str) -> None:
        trie, writers = SubscriptionTrie(), writers_for([f"f.{number}" for number in range(10)], 1)
        perform(trie, writers[0], 10)
        assert len(self.judge(exported(trie, spark).where(f"subscriber != '{lost}'"), writers)) == 1
        trie.check()

    def test_finds_fault_with_a_row_on_a_wrong_filter(self, spark: SparkSession) -> None:
        trie, writers = SubscriptionTrie(), writers_for(["a", "b", "c"], 1)
        perform(trie, writers[0], 3)
        trie.unsubscribe("b", (0, 1))
        trie.subscribe("c", (0, 1))
        assert holdings_in_spark(exported(trie, spark), writers)[0].misplaced == 1
        assert len(self.judge(exported(trie, spark), writers)) == 1
        trie.check()

    def test_leaves_the_subscribers_of_files_alone(self, spark: SparkSession) -> None:
        trie, writers = SubscriptionTrie(), writers_for(["a"], 1)
        trie.subscribe("a", "writer-0 step-0")
        assert holdings_in_spark(exported(trie, spark), writers) == {}
        trie.check()

    def test_knows_the_standing_subscriptions(self, spark: SparkSession) -> None:
        standing = SubscriptionTrie()
        standing.subscribe("a", "alice")
        standing.subscribe("b", "bob")
        trie = standing.fork()
        trie.subscribe("a", (0, 0))
        expected = snapshot.to_spark(standing, spark)
        assert standing_faults(exported(trie, spark), expected) == []
        trie.unsubscribe("b", "bob")
        trie.subscribe("c", "carol")
        assert standing_faults(exported(trie, spark), expected) == [
            "1 standing subscriptions are missing and 1 are unknown or double"
        ]
        trie.check()

    @staticmethod
    def judge(frame: DataFrame, writers: list[Writer]) -> list[str]:
        completed = [writer.completed for writer in writers]
        slots = [writer.slots for writer in writers]
        return faults(holdings_in_spark(frame, writers), slots, completed, completed)


def exported(trie: SubscriptionTrie, spark: SparkSession) -> DataFrame:
    return snapshot.to_spark(trie, spark, key=step_key)


class TestDemonstration:
    def test_of_the_workload_is_good(self, spark: SparkSession) -> None:
        outcome = run_workload(spark, unseen, threads=5, messages=3_001, filters=201, seed=11)
        assert outcome.is_good
        assert outcome.exporter.faults == []
        assert [writer.slots for writer in outcome.writers] == [101, 100]
        assert sum(publisher.messages for publisher in outcome.publishers) == 3_001
        assert sum(publisher.checked for publisher in outcome.publishers) == 3_001
        assert 201 <= outcome.exporter.rows <= 203
        assert all(writer.completed > writer.slots for writer in outcome.writers)
        assert len(outcome.trie) == 201
        outcome.trie.check()

    def test_asks_spark_what_a_person_would_ask(self, spark: SparkSession) -> None:
        outcome = run_workload(spark, unseen, threads=2, messages=100, filters=300, seed=11)
        workload = openamq(filters=300, seed=11)
        most = max(map(workload.filters.count, workload.filters))
        assert most <= outcome.exporter.top_filters[0][1] <= most + 1
        assert max(workload.matching) <= outcome.exporter.top_topics[0][1] <= max(workload.matching) + 1
        text = "\n".join(report(outcome))
        for shown in ("subscribes/s", "matches/s", "messages/s per thread", "snapshot call", "rows in Spark"):
            assert shown in text
        assert "cut consistent         yes" in text
        outcome.trie.check()

    def test_of_files_writes_the_matches_in_the_order_of_the_topics(self, spark: SparkSession) -> None:
        trie, expected = SubscriptionTrie(), []
        for number in range(50):
            trie.subscribe(f"a.{number}", f"s{number}")
            trie.subscribe("a.*", f"all{number % 3}")
        topics = [f"a.{number % 60}" for number in range(1_000)]
        for topic in topics:
            own = [f"s{topic[2:]}"] if int(topic[2:]) < 50 else []
            expected += [f"{topic}\t{subscriber}\n" for subscriber in ["all0", "all1", "all2", *own]]
        out, bad = io.BytesIO(), BadLines()
        lines = LineFile("topics", io.BytesIO("\n".join(topics).encode()), bad)
        outcome = run_files(spark, unseen, threads=4, trie=trie, topics=lines, out=out)
        assert out.getvalue().decode() == "".join(expected)
        assert outcome.is_good
        assert not bad.count
        assert outcome.exporter.top_filters[0] == ("a.*", 3)
        trie.check()

    def test_of_files_without_a_subscription_or_topic_is_good(self, spark: SparkSession) -> None:
        out = io.BytesIO()
        lines = LineFile("topics", io.BytesIO(), BadLines())
        outcome = run_files(spark, unseen, threads=2, trie=SubscriptionTrie(), topics=lines, out=out)
        assert outcome.is_good
        assert out.getvalue() == b""
        assert outcome.exporter.rows == 0
        assert list(report(outcome))


class Faulty:
    """A trie with one method replaced."""

    def __init__(self, trie: SubscriptionTrie, **methods: Callable[..., Any]) -> None:
        self._trie = trie
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trie, name)


class Idle(Exporter):
    """An exporter that only waits."""

    def __init__(self) -> None:
        super().__init__(None, SubscriptionTrie(), [], [], list)  # type: ignore[arg-type]

    def run(self, trie: SubscriptionTrie, halfway: threading.Event) -> None:
        halfway.wait()


class TestFailures:
    def test_a_match_that_misses_somebody_is_counted_as_wrong(self) -> None:
        workload, trie = openamq(filters=100, seed=1), SubscriptionTrie()
        for number, filter in enumerate(workload.filters):
            trie.subscribe(filter, number)
        faulty: Any = Faulty(trie, match=lambda topic: trie.match(topic)[1:])
        for used, wrong in ((trie, 0), (faulty, 200)):
            publisher = MessagePublisher(workload, messages=200, writers=2, seed="1")
            publisher.run(used, Barrier(1), Barrier(1), lambda: None)
            assert (publisher.checked, publisher.wrong) == (200, wrong)
        trie.check()

    @pytest.mark.parametrize(
        ("method", "message"), [("subscribe", "was there before it was made"), ("unsubscribe", "was lost")]
    )
    def test_a_lost_write_ends_the_demonstration(self, method: str, message: str) -> None:
        calls = itertools.count()

        def forgetful(filter: str, subscriber: object) -> bool:
            return next(calls) < 1_000 and bool(getattr(trie, method)(filter, subscriber))

        trie = SubscriptionTrie()
        with pytest.raises(RuntimeError, match=message):
            self.work(Faulty(trie, **{method: forgetful}))
        trie.check()

    @pytest.mark.parametrize("method", ["subscribe", "unsubscribe", "match"])
    def test_an_exception_in_a_thread_ends_the_demonstration(self, method: str) -> None:
        def broken(*arguments: object) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            self.work(Faulty(SubscriptionTrie(), **{method: broken}))

    def test_an_exception_in_the_exporter_ends_the_demonstration(self) -> None:
        class Broken(Idle):
            def run(self, *arguments: object) -> None:
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            self.work(SubscriptionTrie(), Broken())

    def test_an_interrupt_stops_all_threads(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        trie = SubscriptionTrie()
        with pytest.raises(KeyboardInterrupt):
            self.work(trie, meanwhile=interrupt)
        trie.check()

    @staticmethod
    def work(trie: Any, exporter: Exporter | None = None, **arguments: Any) -> None:
        """Run more messages than could be matched during a test."""
        workload = openamq(filters=20, seed=1)
        writers = writers_for(workload.filters, 2)
        publishers = [MessagePublisher(workload, 10**12, 2, str(number)) for number in range(2)]
        before = threading.active_count()
        try:
            Crew(trie, writers, publishers, exporter or Idle(), halfway=10**11).work(**arguments)
        finally:
            assert threading.active_count() == before


class TestFeed:
    def test_writes_answers_in_the_order_of_the_portions(self) -> None:
        out = io.BytesIO()
        feed = Feed(out, limit=3)
        for topic in ("a", "b", "c"):
            assert feed.offer([(1, topic)])
        feed.end()
        (first, _), (second, _), (third, _) = [feed.take() or (0, []) for _ in range(3)]
        assert feed.take() is None
        threads = [
            threading.Thread(target=feed.put, args=(number, f"{number}".encode())) for number in (third, second, first)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert out.getvalue() == b"012"

    def test_waits_while_enough_portions_are_waiting(self) -> None:
        feed = Feed(io.BytesIO(), limit=1)
        feed.offer([(1, "a")])
        offering = threading.Thread(target=feed.offer, args=([(2, "b")],))
        offering.start()
        assert feed.take() == (0, [(1, "a")])
        offering.join()
        assert feed.take() == (1, [(2, "b")])

    def test_lets_everybody_go_when_it_is_closed(self) -> None:
        out = io.BytesIO()
        feed = Feed(out, limit=1)
        waiting = [
            threading.Thread(target=feed.put, args=(5, b"never")),
            threading.Thread(target=lambda: (feed.offer([(1, "a")]), feed.offer([(2, "b")]))),
        ]
        for thread in waiting:
            thread.start()
        feed.close()
        for thread in waiting:
            thread.join()
        assert feed.take() is None
        assert not feed.offer([(3, "c")])
        assert out.getvalue() == b""
