"""Field matchers between threads: every switch between two operations, recorded histories, and faults that are noticed.

The only slot is that of the state. The first operation is held before its k-th access of it, for every k that can make
a difference; another thread runs one operation to the end; then the first goes on. What both answer, and what is left,
must be what some order of the two gives by the specification, which is a set of (criteria, subscriber).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable
from random import Random
from typing import Any, NamedTuple

import pytest

import subtrie.fields as fields
from stress import UNSEEN, Spec, check, record
from stress.spec import without_order
from subtrie.fields import Equals, FieldMatcher, Present, Within
from tests.schedule import Fault, Twin, load_twin

Content = frozenset[tuple[str, str]]

# Criteria by a name for each set: the private twin has classes of its own. All but "other" hold for MESSAGE.
MESSAGE = {"f": 1, "g": 2}
ASKED: dict[str, Callable[[Any], list[Any]]] = {
    "equal": lambda fields: [fields.Equals("f", 1)],
    "within": lambda fields: [fields.Within("f", 0, 3)],
    "both": lambda fields: [fields.Equals("f", 1), fields.Present("g")],
    "other": lambda fields: [fields.Equals("f", 7), fields.Present("g")],
}
HOLDS, HITS = {"equal", "within", "both"}, {"equal": 1, "within": 1, "both": 2, "other": 1}


class FieldSubscriptions(Spec):
    """Pairs of a set of criteria, by its name in ASKED, and a subscriber; questions are about MESSAGE."""

    name = "field subscriptions"
    read_only = frozenset({"match_all", "match_any", "match_many", "hits", "length", "snapshot", "fork"})
    initial: Content = frozenset()

    def step(self, state: Content, op: str, args: tuple[Any, ...]) -> tuple[Content, Hashable]:
        match op:
            case "subscribe":
                return state | {args}, args not in state
            case "unsubscribe":
                return state - {args}, args in state
            case "subscribe_both":
                new = {("equal", args[0]), ("other", args[0])}
                return state | new, len(new - state)
            case "unsubscribe_all":
                mine = {pair for pair in state if pair[1] == args[0]}
                return state - mine, len(mine)
            case "move":
                return state - {("within", args[0])} | {("equal", args[0])}, None
            case "clear":
                return frozenset(), None
            case "match_all" | "match_many":
                return state, frozenset(subscriber for asked, subscriber in state if asked in HOLDS)
            case "match_any":
                return state, frozenset(subscriber for _, subscriber in state)
            case "hits":
                return state, frozenset((asked, subscriber, HITS[asked]) for asked, subscriber in state)
            case "length":
                return state, len(state)
        return state, state  # snapshot, fork

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        return op in self.read_only or (op in {"subscribe", "unsubscribe"} and result is False)

    def normalise(self, op: str, result: Any) -> Hashable:
        is_set = isinstance(result, (list, tuple, set, frozenset)) and result is not UNSEEN
        return without_order(list(result)) if is_set else result  # type: ignore[no-any-return]


class Subject:
    """A matcher behind operations whose arguments and answers are of texts and numbers."""

    def __init__(self, fields: Any, matcher: Any = None) -> None:
        self.matcher = fields.FieldMatcher() if matcher is None else matcher
        self._fields = fields
        self._asked = {name: make(fields) for name, make in ASKED.items()}
        self._names = {frozenset(criteria): name for name, criteria in self._asked.items()}

    def subscribe(self, asked: str, subscriber: str) -> bool:
        return bool(self.matcher.subscribe(self._asked[asked], subscriber))

    def unsubscribe(self, asked: str, subscriber: str) -> bool:
        return bool(self.matcher.unsubscribe(self._asked[asked], subscriber))

    def subscribe_both(self, subscriber: str) -> int:
        both = [(self._asked[asked], subscriber) for asked in ("equal", "other")]
        return int(self.matcher.subscribe_many(both))

    def unsubscribe_all(self, subscriber: str) -> int:
        return int(self.matcher.unsubscribe_all(subscriber))

    def move(self, subscriber: str) -> None:
        """Make one subscription and end another; who asks meanwhile finds one of them, or both."""
        self.subscribe("equal", subscriber)
        self.unsubscribe("within", subscriber)

    def clear(self) -> None:
        self.matcher.clear()

    def match_all(self) -> frozenset[Any]:
        return self._distinct(self.matcher.match_all(MESSAGE))

    def match_many(self) -> frozenset[Any]:
        one, other = self.matcher.match_many([MESSAGE, MESSAGE])
        assert set(one) == set(other), "two instants"
        return self._distinct(one)

    def match_any(self) -> frozenset[Any]:
        return self._distinct(self.matcher.match_any(MESSAGE))

    def hits(self) -> frozenset[Any]:
        counted = self.matcher.hits(MESSAGE).items()
        return frozenset((self._names[s.criteria], s.subscriber, count) for s, count in counted)

    def length(self) -> int:
        return len(self.matcher)

    def snapshot(self) -> Content:
        snapshot = self.matcher.snapshot()
        content = self.content(snapshot)
        assert len(snapshot) == len(content)
        return content

    def fork(self) -> Content:
        fork = self.matcher.fork()
        content = self.content(fork)
        fork.clear()  # is nobody's business
        return content

    def content(self, matcher: Any = None) -> Content:
        listed = [(self._names[s.criteria], s.subscriber) for s in (self.matcher if matcher is None else matcher)]
        assert len(listed) == len(set(listed)), f"a subscription twice: {listed}"
        return frozenset(listed)

    @staticmethod
    def _distinct(found: tuple[Any, ...]) -> frozenset[Any]:
        assert len(found) == len(set(found)), f"a subscriber twice: {found}"
        return frozenset(found)


SPEC = FieldSubscriptions()

# ------------------------------------------------------------------------------------------------- every switch of two


class Step(NamedTuple):
    op: str
    args: tuple[str, ...] = ()


CHANGES = [
    Step("subscribe", ("equal", "ann")),
    Step("subscribe", ("other", "ann")),
    Step("subscribe", ("within", "bob")),
    Step("unsubscribe", ("equal", "ann")),
    Step("unsubscribe", ("both", "bob")),
    Step("subscribe_both", ("bob",)),
    Step("unsubscribe_all", ("ann",)),
    Step("clear"),
]
QUESTIONS = [Step(op) for op in sorted(SPEC.read_only)]
STARTS: dict[str, list[Step]] = {
    "empty": [],
    "two": [Step("subscribe", ("equal", "ann")), Step("subscribe", ("both", "bob"))],
    "about to move": [Step("subscribe", ("within", "ann"))],
    "counted": [Step("subscribe", ("equal", "ann")), Step("match_any"), Step("subscribe", ("other", "ann"))],
}


def fields_twin(fault: Fault | None = None) -> Twin:
    return load_twin(fault, ("ctrie", "subtrie", "subtrie.fields"))


def run(subject: Subject, step: Step) -> Any:
    return SPEC.normalise(step.op, getattr(subject, step.op)(*step.args))


def by_specification(steps: list[Step], state: Content) -> tuple[list[Any], Content]:
    answers = []
    for step in steps:
        state, answer = SPEC.step(state, *step)
        answers.append(SPEC.normalise(step.op, answer))
    return answers, state


def explore(twin: Twin, start: str, first: Step, second: Step, kind: type[Subject] = Subject) -> int:
    """Try every switch and return how many there were; AssertionError if one has no explanation."""
    _, state = by_specification(STARTS[start], frozenset())
    (a, b), left = by_specification([first, second], state)
    (d, c), other_left = by_specification([second, first], state)
    explicable = [([a, b], left), ([c, d], other_left)]
    at: int | None = 1
    tried = 0
    while at is not None:
        subject = kind(twin.modules["subtrie.fields"])
        for step in STARTS[start]:
            run(subject, step)
        try:
            held = functools.partial(run, subject, first)
            switched = twin.schedule.switch(held, {at: functools.partial(run, subject, second)})
        except LookupError:
            break
        seen = [switched.first, *switched.others], subject.content()
        assert seen in explicable, f"{first} held at {at}, {second} on {start}: {seen} is not among {explicable}"
        subject.matcher.check()
        tried += 1
        at = switched.next
    return tried


def explore_all(twin: Twin) -> int:
    pairs = [*itertools.product(CHANGES + QUESTIONS, CHANGES), *itertools.product(CHANGES, QUESTIONS)]
    return sum(explore(twin, start, first, second) for start in STARTS for first, second in pairs)


@pytest.mark.once  # the same interpreted source, in one thread, whatever twin the tests run
def test_two_operations() -> None:
    assert explore_all(fields_twin()) > 500


def fault(name: str, text: str, replacement: str) -> Any:
    return pytest.param(Fault(name, "subtrie.fields.matcher", text, replacement), id=name)


@pytest.mark.once
@pytest.mark.parametrize(
    "fault",
    [
        fault(
            "a change that lost is taken for made",
            "if changed is state or compare_and_set(self._slot, state, changed):",
            "if changed is state or compare_and_set(self._slot, state, changed) or True:",
        ),
        fault(
            "a change is put in the place of whatever is there",
            "if changed is state or compare_and_set(self._slot, state, changed):",
            "if changed is state or compare_and_set(self._slot, load(self._slot), changed):",
        ),
        fault(
            "rows of an older state are put in the place of a newer one",
            "if compare_and_set(self._slot, state, known):",
            "if compare_and_set(self._slot, load(self._slot), known):",
        ),
        fault(
            "what changed while rows were made is not added",
            "known = with_rows(state, known)",
            "known = with_rows(state, known) if known is NO_ROWS else known",
        ),
        fault(
            "several messages are matched at several instants",
            "return [subscribers_for(state, _as_dict(message)) for message in messages]",
            "return [subscribers_for(load(self._slot), _as_dict(message)) for message in messages]",
        ),
    ],
)
def test_a_fault_is_noticed(fault: Fault) -> None:
    with pytest.raises((AssertionError, KeyError)):
        explore_all(fields_twin(fault))


class Torn(Subject):
    """Looks for one criterion after the other, each at an instant of its own, as matchers without a state do."""

    def match_all(self) -> frozenset[Any]:
        found: set[Any] = set()
        for asked in sorted(HOLDS):
            found |= {subscriber for name, subscriber in self.content() if name == asked}
        return frozenset(found)


@pytest.mark.once
@pytest.mark.parametrize("kind", [Subject, Torn])
def test_a_move_between_two_criteria(kind: type[Subject]) -> None:
    """A matcher that asks for criteria one at a time misses who moves from one to another, and is found out."""
    twin, question, move = fields_twin(), Step("match_all"), Step("move", ("ann",))
    if kind is Subject:
        assert explore(twin, "about to move", question, move, kind)
    else:
        with pytest.raises(AssertionError, match="held at"):
            explore(twin, "about to move", question, move, kind)


def test_users_code_that_changes_the_matcher_in_the_middle_of_a_change() -> None:
    """`__eq__` runs between the load and the compare-and-set, which then fails: both changes take effect."""

    class Meddling:
        def __init__(self) -> None:
            self.matcher: FieldMatcher | None = None

        def __eq__(self, other: object) -> bool:
            matcher, self.matcher = self.matcher, None
            if matcher is not None:
                matcher.subscribe([Present("g")], "meanwhile")
            return self is other

        def __hash__(self) -> int:
            return 1

    matcher = FieldMatcher()
    value = Meddling()
    matcher.subscribe([Equals("f", value)], "one")
    value.matcher = matcher
    assert matcher.subscribe([Equals("f", Meddling())], "two")
    assert {found.subscriber for found in matcher} == {"one", "two", "meanwhile"}
    matcher.check()


def test_what_users_code_raises_changes_nothing() -> None:
    class Unequal:
        def __eq__(self, other: object) -> bool:
            if isinstance(other, Unequal) and self is not other:
                raise ZeroDivisionError
            return self is other

        def __hash__(self) -> int:
            return 1

    matcher = FieldMatcher()
    matcher.subscribe([Equals("f", Unequal())], "one")
    for change in (
        lambda: matcher.subscribe([Equals("f", Unequal()), Within("g", 1)], "two"),
        lambda: matcher.match_all({"f": Unequal()}),
    ):
        with pytest.raises(ZeroDivisionError):
            change()
    assert len(matcher) == 1
    matcher.check()


# ------------------------------------------------------------------------------------------------------------ histories


def plans(seed: int, threads: int, rounds: int, length: int) -> list[list[list[tuple[str, tuple[Any, ...]]]]]:
    rng = Random(seed)
    names = ["ann", "bob"]

    def operation() -> tuple[str, tuple[Any, ...]]:
        op = rng.choice(["subscribe"] * 4 + ["unsubscribe"] * 3 + ["unsubscribe_all", "clear", *SPEC.read_only])
        if op in {"subscribe", "unsubscribe"}:
            return op, (rng.choice(list(ASKED)), rng.choice(names))
        return op, (rng.choice(names),) if op == "unsubscribe_all" else ()

    return [[[operation() for _ in range(length)] for _ in range(rounds)] for _ in range(threads)]


@pytest.mark.parametrize("seed", range(7, 19))
def test_a_recorded_history_is_linearizable(seed: int) -> None:
    subject = Subject(fields)
    history = record(subject, plans(seed, threads=3, rounds=6, length=10), SPEC, seed=seed)
    judgement = check(history, SPEC)
    assert judgement, f"seed {seed}: {judgement}"
    subject.matcher.check()


def test_a_subscriber_that_moves_is_never_missed() -> None:
    there: list[tuple[str, tuple[Any, ...]]] = [
        ("subscribe", ("equal", "ann")),
        ("unsubscribe", ("within", "ann")),
        ("subscribe", ("within", "ann")),
        ("unsubscribe", ("equal", "ann")),
    ]
    for seed in range(10):
        subject = Subject(fields)
        history = record(subject, [[there * 8] * 3, [[("match_all", ())] * 32] * 3], SPEC, seed=seed)
        assert check(history, SPEC), f"seed {seed}"
        subject.matcher.check()
