"""The checker, property by property: which orders it accepts, what it may skip, and when it must not answer."""

from __future__ import annotations

import itertools
import textwrap
import time
from random import Random
from typing import Any

import pytest

from stress import (
    UNSEEN,
    Budget,
    Counter,
    KeyValue,
    Map,
    MultiRegister,
    Mutex,
    Operation,
    Queue,
    Raised,
    Register,
    Set,
    Spec,
    Subscriptions,
    Verdict,
    check,
)
from stress.checker.components import Component, components, projections
from stress.checker.search import Search, segments
from stress.checker.segment import Segment
from stress.checker.unwritten_values import first_without_origin
from tests.scripts import run_script

pytestmark = pytest.mark.once  # Python that is the same everywhere


def history(*rows: tuple[Any, ...]) -> list[Operation]:
    """Operations from rows of thread, call, return, name, arguments and answer; a return of None means pending."""
    return [
        Operation(number, thread, call, returned, op, args, UNSEEN if returned is None else result)
        for number, (thread, call, returned, op, args, result) in enumerate(rows)
    ]


def verdict(operations: list[Operation], spec: Spec, **settings: Any) -> Verdict:
    return check(operations, spec, **settings).verdict


class TestRealTime:
    def test_a_read_after_a_completed_write_must_see_it(self) -> None:
        stale = history((0, 1, 2, "write", (1,), None), (1, 3, 4, "read", (), None))

        assert verdict(stale, Register()) is Verdict.ILLEGAL

    def test_a_read_that_overlaps_a_write_may_see_it_or_not(self) -> None:
        for seen in (None, 1):
            overlapping = history((0, 1, 4, "write", (1,), None), (1, 2, 3, "read", (), seen))
            assert verdict(overlapping, Register()) is Verdict.LINEARIZABLE

    def test_two_reads_must_agree_on_when_an_overlapping_write_took_effect(self) -> None:
        new_then_old = history((0, 1, 9, "write", (1,), None), (1, 2, 3, "read", (), 1), (2, 4, 5, "read", (), None))

        assert verdict(new_then_old, Register()) is Verdict.ILLEGAL

    def test_a_call_at_the_very_moment_of_a_return_overlaps_it(self) -> None:
        tie = history((0, 1, 2, "write", (1,), None), (1, 2, 3, "read", (), None))

        assert verdict(tie, Register()) is Verdict.LINEARIZABLE
        assert len(segments(tie)) == 1

    def test_an_empty_history_is_linearizable(self) -> None:
        assert verdict([], Register()) is Verdict.LINEARIZABLE


class TestPending:
    def test_it_may_take_effect_long_after_its_call(self) -> None:
        late = history((0, 1, None, "write", (7,), None), (1, 2, 3, "read", (), None), (1, 4, 5, "read", (), 7))

        assert verdict(late, Register()) is Verdict.LINEARIZABLE

    def test_it_may_never_take_effect(self) -> None:
        never = history((0, 1, None, "write", (7,), None), (1, 2, 3, "read", (), None))

        assert verdict(never, Register()) is Verdict.LINEARIZABLE

    def test_it_takes_effect_once_at_most(self) -> None:
        twice = history(
            (0, 1, None, "write", (7,), None),
            (1, 2, 3, "read", (), 7),
            (1, 4, 5, "write", (1,), None),
            (1, 6, 7, "read", (), 7),
        )

        assert verdict(twice, Register()) is Verdict.ILLEGAL

    def test_it_cannot_take_effect_before_its_call(self) -> None:
        early = history((1, 1, 2, "read", (), 7), (0, 3, None, "write", (7,), None))

        assert verdict(early, Register()) is Verdict.ILLEGAL

    def test_a_compare_and_set_that_never_returned_need_not_have_succeeded(self) -> None:
        unlucky = history((0, 1, None, "cas", (5, 6), None), (1, 2, 3, "read", (), None))

        assert verdict(unlucky, Register()) is Verdict.LINEARIZABLE

    def test_a_lock_that_was_perhaps_released_may_be_acquired(self) -> None:
        rows = [(0, 1, 2, "acquire", (), None), (1, 5, 6, "acquire", (), None)]
        release = (0, 3, None, "release", (), None)

        assert verdict(history(*rows), Mutex()) is Verdict.ILLEGAL
        assert verdict(history(rows[0], release, rows[1]), Mutex()) is Verdict.LINEARIZABLE

    def test_many_of_them_do_not_stand_in_the_way_of_a_refutation(self) -> None:
        """Each of thirty writes may have happened or not, so trying everything would be 2**30 cases or more."""
        pending = [(thread, thread, None, "write", (thread % 5,), None) for thread in range(30)]
        reads = [(99, 100 + 2 * at, 101 + 2 * at, "read", (), value) for at, value in enumerate([3, 1, 4, 77])]

        assert verdict(history(*pending, *reads), Register(), budget=Budget(steps=100_000)) is Verdict.ILLEGAL

    def test_the_shortcut_for_many_of_them_gives_up_where_states_grow_without_end(self) -> None:
        pending = [(thread, thread, None, "append", ("k", f"{thread} "), None) for thread in range(14)]
        impossible = [(99, 100, 101, "get", ("k",), "nobody wrote this")]
        budget = Budget(steps=60_000)

        assert verdict(history(*pending, *impossible), KeyValue(), budget=budget) is Verdict.UNKNOWN


def register_log(random: Random, size: int) -> list[Operation]:
    """A register with about ten calls at once; a fifth of them never returned, and half of these took effect."""
    spec, state, operations = Register(), None, []
    for moment, number in sorted((10 * number + random.randrange(100), number) for number in range(size)):
        old, new = random.randrange(100), random.randrange(100)
        op, args = random.choice([("read", ()), ("write", (new,)), ("cas", (old, new))])
        pending = random.random() < 0.2
        after, result = spec.step(state, op, args)
        state = after if not pending or random.random() < 0.5 else state
        returned = None if pending else moment + random.randrange(100)
        operations.append(Operation(number, number, 10 * number, returned, op, args, UNSEEN if pending else result))
    return operations


class TestManyPending:
    """The right order is tried first, without detours, so each operation takes few steps."""

    def test_additions_that_timed_out_and_were_seen_or_not(self) -> None:
        adds = [(at, at, None if at % 2 else at + 3, "add", (at,), None) for at in range(200)]
        seen = frozenset(at for at in range(200) if at % 4 != 3)

        judgement = check(history(*adds, (999, 1_000, 1_001, "read", (), seen)), Set())

        assert judgement.verdict is Verdict.LINEARIZABLE
        assert judgement.steps < 2_000

    def test_compare_and_set(self) -> None:
        judgements = [check(register_log(Random(seed), 300), Register()) for seed in range(5)]

        assert all(judgements)
        assert sum(judgement.steps for judgement in judgements) < 500_000


class TestQueue:
    """Twelve producers that overlap throughout, and a few values that alone show that something is wrong."""

    PUTS = [(at % 12, 10 * at, 10 * at + 119, "enqueue", (at,), None) for at in range(200)]

    @pytest.mark.parametrize("answers", [(0, 0), (0, 777)], ids=["twice", "never enqueued"])
    def test_an_answer_that_its_value_alone_refutes(self, answers: tuple[int, ...]) -> None:
        gets = [(20, 9_000 + 2 * at, 9_001 + 2 * at, "dequeue", (), answer) for at, answer in enumerate(answers)]

        judgement = check(history(*self.PUTS, *gets), Queue())

        assert judgement.verdict is Verdict.ILLEGAL
        assert judgement.steps < 10_000

    def test_a_dequeue_that_nobody_saw_may_have_taken_it(self) -> None:
        rows = [(0, 1, 2, "enqueue", (1,), None), (0, 3, 4, "dequeue", (), UNSEEN), (0, 5, 6, "dequeue", (), None)]

        assert verdict(history(*rows), Queue()) is Verdict.LINEARIZABLE

    def test_none_may_be_a_value(self) -> None:
        rows = [(0, at, at, "enqueue", (value,), None) for at, value in enumerate([None, 1])]
        spec, gets = Queue(), [(0, 8 + at, 8 + at, "dequeue", (), value) for at, value in enumerate([None, 1])]
        operations = history(*rows, *gets)

        assert verdict(operations, spec) is Verdict.LINEARIZABLE
        for part in projections(Component(operations, [()]), spec):
            finding = Search(part.operations, spec, part.starts).advance(1_000)
            assert finding is not None
            assert finding.linearizable


class TestReads:
    def test_a_read_whose_answer_fits_now_is_not_bound_to_now(self) -> None:
        """A read that does not fit now must still be tried later, although reads are taken as early as they fit."""
        later = history((0, 1, 9, "read", (), 2), (1, 2, 3, "write", (1,), None), (1, 4, 5, "write", (2,), None))

        assert verdict(later, Register()) is Verdict.LINEARIZABLE

    def test_a_write_of_the_value_that_is_there_is_no_read(self) -> None:
        """If it were taken at once because it changes nothing *now*, it could not restore the value later."""
        restored = history((0, 1, 9, "write", (0,), None), (1, 2, 3, "write", (1,), None), (1, 4, 5, "read", (), 0))

        assert verdict(restored, Register(0)) is Verdict.LINEARIZABLE

    def test_a_subscribe_with_an_unknown_answer_is_no_read(self) -> None:
        pair = ("a.b", 1)
        again = [
            Operation(0, 0, 1, 9, "subscribe", pair, UNSEEN),
            Operation(1, 1, 2, 3, "unsubscribe", pair, True),
            Operation(2, 1, 4, 5, "match", ("a.b",), frozenset({1})),
        ]

        assert verdict(again, Subscriptions([pair])) is Verdict.LINEARIZABLE


class TestComponents:
    def test_a_map_splits_by_key(self) -> None:
        operations = history(
            (0, 1, 2, "put", ("a", 1), None), (1, 3, 4, "put", ("b", 2), None), (0, 5, 6, "get", ("a",), 1)
        )

        parts = components(operations, Map(), [Map().initial])

        assert sorted(len(part.operations) for part in parts) == [1, 2]

    def test_an_operation_on_everything_joins_everything(self) -> None:
        operations = history((0, 1, 2, "put", ("a", 1), None), (1, 3, 4, "len", (), 1))

        assert len(components(operations, Map(), [Map().initial])) == 1

    def test_a_match_joins_the_filters_that_cover_its_topic_and_no_others(self) -> None:
        operations = history(
            (0, 1, 2, "subscribe", ("a.b", 1), True),
            (0, 3, 4, "subscribe", ("*.b", 2), True),
            (0, 5, 6, "subscribe", ("c.d", 3), True),
            (1, 7, 8, "match", ("a.b",), frozenset({1, 2})),
        )

        parts = components(operations, Subscriptions(), [frozenset()])

        joined = next(part for part in parts if len(part.operations) == 3)
        assert set(joined.elements or ()) == {("a.b", 1), ("*.b", 2)}

    def test_what_was_there_at_the_start_counts(self) -> None:
        spec = Subscriptions([("a.*", 1)])
        seen, missed = (history((0, 1, 2, "match", ("a.b",), answer)) for answer in (frozenset({1}), frozenset()))

        assert verdict(seen, spec) is Verdict.LINEARIZABLE
        assert verdict(missed, spec) is Verdict.ILLEGAL

    def test_a_match_that_no_filter_covers_must_find_nobody(self) -> None:
        ghost = history((0, 1, 2, "match", ("a.b",), frozenset({1})))

        assert verdict(ghost, Subscriptions()) is Verdict.ILLEGAL

    def test_a_torn_match_is_refuted_though_every_filter_by_itself_is_in_order(self) -> None:
        """The schedule that defeats matchers which read literal and wildcard entries at two moments."""
        torn = history(
            (0, 1, 8, "match", ("a.b",), frozenset()),
            (1, 2, 3, "subscribe", ("a.b", 1), True),
            (1, 4, 5, "unsubscribe", ("*.b", 1), True),
        )

        assert verdict(torn, Subscriptions([("*.b", 1)])) is Verdict.ILLEGAL

    def test_transactions_join_their_keys(self) -> None:
        torn = history(
            (0, 1, 2, "txn", (("write", "x", 1), ("write", "y", 1)), ()),
            (1, 3, 4, "txn", (("read", "x"), ("read", "y")), (1, 0)),
        )

        assert verdict(torn, MultiRegister(0)) is Verdict.ILLEGAL


class TestSegments:
    def test_every_state_that_a_segment_can_end_in_is_carried_on(self) -> None:
        """Two blind writes overlap; only two cuts later a read shows which one came last."""
        for last in (1, 2):
            operations = history(
                (0, 1, 4, "write", (1,), None),
                (1, 2, 3, "write", (2,), None),
                (0, 5, 6, "cas", (9, 9), False),
                (0, 7, 8, "read", (), last),
            )
            assert len(segments(operations)) == 3
            assert verdict(operations, Register(0)) is Verdict.LINEARIZABLE

    def test_a_wide_segment_is_taken_up_again_when_its_first_end_state_leads_nowhere(self) -> None:
        """Eight blind appends overlap; only one of their 40,320 orders fits what is read two cuts later."""
        rows: list[tuple[Any, ...]] = [
            (thread, thread, 100 + thread, "append", ("k", f"{thread:x}"), None) for thread in range(8)
        ]
        rows.append((0, 200, 201, "put", ("other", 1), None))
        rows.append((0, 300, 301, "get", ("k",), "76543210"))

        assert verdict(history(*rows), KeyValue()) is Verdict.LINEARIZABLE

    def test_a_long_history_costs_about_as_much_as_its_parts(self) -> None:
        random = Random(5)
        state, rows = 0, []
        for at in range(0, 40_000, 2):
            if random.random() < 0.5:
                state += 1
                rows.append((at % 3, at, at + 3, "increment", (), state))
            else:
                rows.append((at % 3, at, at + 1, "value", (), state))
        rows.sort(key=lambda row: row[1])

        judgement = check(history(*rows), Counter())

        assert judgement.verdict is Verdict.LINEARIZABLE
        assert judgement.steps < 20 * len(rows)

    def test_what_was_tried_is_remembered_by_what_runs_at_once_however_long_the_history(self) -> None:
        """One read lasts from the first call to the last; the other calls overlap only their neighbours."""
        short = [(at % 2, 10 * at, 10 * at + 12, "write", (at,), None) for at in range(1_000)]
        segment = Segment(history((9, -1, 20_000, "read", (), 7), *short), Register())

        assert max(segment.slots).bit_length() == len(segment.operations).bit_length() + 3


class TestOrigins:
    """Twelve writers that overlap throughout, so that a search through their orders gets nowhere."""

    WRITES = [(at % 12, 10 * at, 10 * at + 119, "write", (at,), None) for at in range(2_000)]

    def test_a_value_that_nobody_wrote_is_refuted_in_one_pass(self) -> None:
        judgement = check(history(*self.WRITES, (20, 9_001, 9_007, "read", (), 7_777)), Register())

        assert judgement.verdict is Verdict.ILLEGAL
        assert judgement.steps < 20 * judgement.operations

    def test_so_is_one_that_was_written_only_later(self) -> None:
        judgement = check(history(*self.WRITES, (20, 9_001, 9_007, "read", (), 1_500)), Register())

        assert judgement.verdict is Verdict.ILLEGAL
        assert judgement.steps < 20 * judgement.operations

    def test_the_failure_ends_with_the_return_that_shows_it(self) -> None:
        judgement = check(history((20, 9_001, 9_007, "read", (), 7_777), *self.WRITES), Register())

        assert judgement.failure is not None
        returned = [each for each in judgement.failure.operations if each.returned is not None]
        assert max(returned, key=lambda each: each.returned or 0).id == 0
        assert all(each.call < 9_007 for each in judgement.failure.operations)

    def test_what_is_written_at_the_tick_of_the_return_may_have_been_read(self) -> None:
        rows = [(0, 1, 5, "read", (), 3), (1, 5, 9, "write", (3,), None)]

        assert first_without_origin(history(*rows), Register(), [None]) is None
        assert verdict(history(*rows), Register()) is Verdict.LINEARIZABLE

    def test_who_never_returned_may_have_written_it_and_who_failed_has_not(self) -> None:
        read = (0, 5, 6, "read", (), 3)
        for result, returned, known in ((UNSEEN, None, True), (True, 4, True), (False, 4, False)):
            cas = Operation(9, 9, 1, returned, "cas", (None, 3), result)
            found = first_without_origin([cas, *history(read)], Register(), [None])
            assert (found is None) is known


HARD = [
    *((thread, thread, 1_000 + thread, "enqueue", (thread,), None) for thread in range(14)),
    (98, 1_500, 1_501, "enqueue", (98,), None),
    *((99, 2_000 + 2 * at, 2_001 + 2 * at, "dequeue", (), value) for at, value in enumerate([13, 0, 98])),
    (98, 3_000, 3_001, "enqueue", (13,), None),
]  # Fourteen values, enqueued in an order that nobody saw. One that came later is dequeued before most of them. One of
# them comes twice, so the checker cannot tell the order at a glance.


class TestBudget:
    def test_too_few_steps_end_in_unknown(self) -> None:
        judgement = check(history(*HARD), Queue(), budget=Budget(steps=10_000))

        assert judgement.verdict is Verdict.UNKNOWN
        assert not judgement

    def test_too_little_time_ends_in_unknown(self) -> None:
        began = time.monotonic()

        assert check(history(*HARD), Queue(), budget=Budget(seconds=0.05)).verdict is Verdict.UNKNOWN
        assert time.monotonic() - began < 30

    def test_the_last_turn_is_no_longer_than_what_is_left(self) -> None:
        judgement = check(history(*HARD), Queue(), budget=Budget(steps=20_000))

        assert judgement.verdict is Verdict.UNKNOWN
        assert judgement.steps < 21_000

    def test_too_little_memory_ends_in_unknown(self) -> None:
        """Only memory that the check adds counts, not what its process had before, and not the parent's memory."""
        script = """
            from stress import Budget, Operation, Queue, check
            from stress.checker.check import megabytes_in_use

            puts = [Operation(at, at, at, 1_000 + at, "enqueue", (at % 9,), None) for at in range(22)]
            gets = [Operation(22 + at, 22, 2_000 + at, 2_000 + at, "dequeue", (), 0) for at in range(3)]
            before = megabytes_in_use()
            judgement = check([*puts, *gets], Queue(), budget=Budget(megabytes=50))
            print(judgement.verdict.name, judgement.spent, judgement.steps < 300_000, megabytes_in_use() - before < 100)
        """
        beginner = f"""
            import subprocess, sys
            ballast = bytes(range(256)) * (300 * 2**12)
            subprocess.run([sys.executable, "-c", {textwrap.dedent(script)!r}], check=True)
        """
        assert run_script(textwrap.dedent(beginner)) == (0, "UNKNOWN 50 MB True True\n", "")

    def test_what_was_spent_is_told(self) -> None:
        by_steps, by_time = Budget(steps=10_000), Budget(seconds=0)

        assert check(history(*HARD), Queue(), budget=by_steps).spent == "10,000 steps"
        assert check(history(*HARD), Queue(), budget=by_time).spent == "0 seconds"
        assert check(history(), Queue()).spent == ""

    def test_the_clock_is_read_during_a_turn_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The clock advances by a second at each reading."""
        readings = itertools.count()
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda: float(next(readings)))
            judgement = check(history(*HARD), Queue(), budget=Budget(steps=200_000, seconds=100))

        assert judgement.verdict is Verdict.UNKNOWN
        assert judgement.steps < 50_000

    def test_a_hard_part_does_not_hide_a_refuted_one(self) -> None:
        """Parts take turns, so the part that is wrong ends the search however long the other would take."""
        hard = [
            Operation(at, at, at, 1_000 + at, "put", ("hard", at), None) for at in range(14)
        ]  # nothing shows which one came last, so trying all orders takes long
        wrong = [
            Operation(90, 90, 2_000, 2_001, "put", ("easy", 1), None),
            Operation(91, 90, 2_002, 2_003, "get", ("easy",), 2),
        ]
        lookup = [Operation(92, 91, 3_000, 3_001, "get", ("hard",), 99)]

        judgement = check([*hard, *lookup, *wrong], Map())

        assert judgement.verdict is Verdict.ILLEGAL
        assert judgement.components == 2


class TestNonDeterminism:
    def test_popitem_may_take_any_item(self) -> None:
        rows = [(0, 1, 2, "put", ("a", 1), None), (0, 3, 4, "put", ("b", 2), None)]
        for item in (("a", 1), ("b", 2)):
            assert verdict(history(*rows, (0, 5, 6, "popitem", (), item)), Map()) is Verdict.LINEARIZABLE
        assert verdict(history(*rows, (0, 5, 6, "popitem", (), ("a", 2))), Map()) is Verdict.ILLEGAL

    def test_popitem_of_an_empty_map_raises(self) -> None:
        empty = history((0, 1, 2, "popitem", (), Raised("KeyError")))

        assert verdict(empty, Map()) is Verdict.LINEARIZABLE
        assert verdict(empty, Map({"a": 1})) is Verdict.ILLEGAL

    def test_what_an_unseen_popitem_took_is_found_out_later(self) -> None:
        operations = [
            *history((0, 1, 2, "put", ("a", 1), None), (0, 3, 4, "put", ("b", 2), None)),
            Operation(2, 0, 5, 6, "popitem", (), UNSEEN),
            Operation(3, 0, 7, 8, "items", (), frozenset({("b", 2)})),
        ]

        assert verdict(operations, Map()) is Verdict.LINEARIZABLE
        assert verdict([*operations, Operation(4, 0, 9, 10, "get", ("b",), None)], Map()) is Verdict.ILLEGAL


class TestExceptions:
    def test_an_exception_is_an_answer_like_any_other(self) -> None:
        missing = history((0, 1, 2, "delitem", ("a",), Raised("KeyError", "'a'")))

        assert verdict(missing, Map()) is Verdict.LINEARIZABLE
        assert verdict(missing, Map({"a": 1})) is Verdict.ILLEGAL

    def test_an_exception_that_no_state_explains_is_a_violation(self) -> None:
        broken = history((0, 1, 2, "put", ("a", 1), Raised("RuntimeError")))

        assert verdict(broken, Map()) is Verdict.ILLEGAL


@pytest.mark.parametrize("spec", [Register(), Map(), Subscriptions(), Counter(), Queue()], ids=lambda spec: spec.name)
def test_what_a_specification_does_not_know_is_an_error(spec: Spec) -> None:
    with pytest.raises(NotImplementedError, match="explode"):
        check(history((0, 1, 2, "explode", (), None)), spec)
