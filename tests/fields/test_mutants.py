"""Faults put into the field engine, one at a time: each is noticed by `check()` or by a comparison with a plain model.

The explorer's catalogue of mutants has the faults in state that several threads share.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.fields.test_matcher import meets
from tests.twins import Fault, load_twin

pytestmark = pytest.mark.once  # the same interpreted source, whatever twin the tests run


ROUNDS = 8  # a fault in what is decided by hashes shows in most rounds, and not in every one


def models(fields: Any) -> None:
    """Compare with a plain model, in rounds of different choices and names; AssertionError if an answer is wrong."""
    for seed in range(ROUNDS):
        model(fields, random.Random(seed), [f"{letter}{seed}" for letter in "fgh"])


def model(fields: Any, rng: random.Random, names: list[str]) -> None:
    """Subscribe and unsubscribe at random, and compare every answer."""
    matcher = fields.FieldMatcher()
    present: dict[tuple[Any, int], None] = {}
    for number in range(160):  # in order, which is hard on a tree; enough of them for three levels
        present[frozenset([fields.Within("r", number, number + 2)]), number] = None
    for number in range(60):  # a crowd, most of which asks for something else, too
        span = [fields.Within("r", number, number + 3)] if number % 4 else []
        present[frozenset([fields.Equals("c", 1), *span]), number] = None
    assert matcher.subscribe_many(present) == 220
    matcher.check()
    older = matcher.snapshot()
    for step in range(400):
        if step == 200:
            matcher.hits({})
        if present and rng.random() < (0.3 if step < 300 else 0.7):
            criteria, subscriber = rng.choice(list(present))
            assert matcher.unsubscribe(criteria, subscriber)
            del present[criteria, subscriber]
        else:
            criteria = frozenset(some_criterion(fields, names, rng) for _ in range(rng.randint(1, 3)))
            subscriber = rng.randrange(30)
            assert matcher.subscribe(criteria, subscriber) == ((criteria, subscriber) not in present)
            present[criteria, subscriber] = None
        if step % 20 == 19:
            matcher.check()
            assert {(s.criteria, s.subscriber) for s in matcher} == set(present)
            changed = {(c.kind, c.subscription.criteria, c.subscription.subscriber) for c in matcher.diff(older)}
            before = {(s.criteria, s.subscriber) for s in older}
            assert changed == {("added", *s) for s in set(present) - before} | {
                ("removed", *s) for s in before - set(present)
            }
            older = matcher.snapshot()
            for _ in range(10):
                compare(matcher, present, some_message(names, rng), step > 200)
                compare(
                    matcher, present, some_message(names, rng) | values_of(rng.choice(list(present))[0]), step > 200
                )
    for criteria, subscriber in present:
        assert matcher.unsubscribe(criteria, subscriber)
        if rng.random() < 0.1:
            matcher.check()
    matcher.check()
    assert not matcher


def compare(matcher: Any, present: Any, message: dict[str, int], counted: bool) -> None:
    counts = {(criteria, subscriber): sum(meets(c, message) for c in criteria) for criteria, subscriber in present}
    complete = {subscriber for (criteria, subscriber), count in counts.items() if count == len(criteria)}
    found = matcher.match_all(message)
    assert sorted(found) == sorted(complete)
    wanted = sum(count == len(criteria) for (criteria, _), count in counts.items())
    delivered = [delivery.subscriber for delivery in matcher.deliveries(message)]
    assert len(delivered) == wanted
    assert set(delivered) == complete
    if counted:
        hits = {(s.criteria, s.subscriber): count for s, count in matcher.hits(message).items()}
        assert hits == {subscription: count for subscription, count in counts.items() if count}
        assert sorted(matcher.match_any(message)) == sorted({subscriber for _, subscriber in hits})


def some_criterion(fields: Any, names: list[str], rng: random.Random) -> Any:
    name, value = rng.choice(names), rng.randrange(-2, 5)  # -1 and -2 have the same hash
    makers: list[Callable[[], Any]] = [
        lambda: fields.Equals(name, value),
        lambda: fields.OneOf(name, [value, value + 1]),
        lambda: fields.Within(name, value, value + rng.randrange(1, 3), rng.random() < 0.5, rng.random() < 0.5),
        lambda: fields.AtLeast(name, value),
        lambda: fields.LessThan(name, value),
        lambda: fields.NotIn(name, [value]),
        lambda: fields.Present(name),
        lambda: fields.Absent(name),
    ]
    return rng.choice(makers)()


def some_message(names: list[str], rng: random.Random) -> dict[str, int]:
    message = {name: rng.randrange(-3, 8) for name in (*names, "r") if rng.random() < 0.7}
    return message | {"c": 1} if rng.random() < 0.3 else message


def values_of(criteria: Any) -> dict[str, int]:
    """Return the fields that meet the criteria which name a value."""
    return {criterion.name: criterion.value for criterion in criteria if type(criterion).__name__ == "Equals"}


def fields_with(fault: Fault | None) -> Any:
    return load_twin(fault, ("ctrie", "subtrie", "subtrie.fields")).modules["subtrie.fields"]


def test_without_a_fault() -> None:
    models(fields_with(None))


FAULTS = [
    ("intervals", "reach = _higher(reach, _reach_at(node, i))", "pass"),
    (
        "intervals",
        "_higher(cython.cast(Ranges, before).reach, cython.cast(Within, key))",
        "cython.cast(Ranges, before).reach",
    ),
    ("intervals", "compared(b.low, a.low, LESS) else a.low_open - b.low_open", "compared(b.low, a.low, LESS) else 0"),
    (
        "intervals",
        "compared(b.high, a.high, LESS) else b.high_open - a.high_open",
        "compared(b.high, a.high, LESS) else 0",
    ),
    ("tree", "        if i < 0:\n            i = 0", "        pass"),
    ("tree", "    if len(below) <= MOST:", "    if True:"),
    ("tree", "        filled(like.blank(), right, below[half:], None, None),\n", ""),
    ("tree", "(None, None) if keys is None else (keys[:half], keys[half:])", "(keys, keys)"),
    ("tree", "return inserted(replaced(below, i, nodes[1]), i, nodes[0])", "return replaced(below, i, nodes[1])"),
    ("tree", "    if len(child.below) >= LEAST:", "    if True:"),
    ("tree", "joined = _joined(node.below[left], child)", "joined = _joined(child, node.below[left])"),
    ("tree", "    if left.keys is None and len(left.below) == 1:", "    if False:"),
    ("maps", "        return (node, cell)", "        return cell"),
    ("maps", "return left if len(left) > 1 else left[0]", "return left"),
    ("maps", "isinstance(branch_at(changed, 0), Cell):", "False:"),
    ("maps", "return with_branch(cn, flag, pos, cell)", "return with_branch(cn, flag, 0, cell)"),
    ("maps", "if found.hash == hash and (found.key is key or found.key == key):", "if found.hash == hash:"),
    ("search", "return key is value_at(search, number) or is_equal(key, value_at(search, number))", "return True"),
    ("search", "        shift += W\n    return 0", "        shift += 1\n    return 0"),
    ("intervals", "while i < len(node.below) and _begins_at(node, i, point):", "while i < len(node.below) and i < 2:"),
    ("intervals", "if _lasts_at(node, i, point):", "if True:"),
    ("search", "holds = _all_hold(search, rest_of(entry))", "holds = True"),
    ("search", "    keep(search, kept)\n    return 0\n\n\ndef _keep_possible", "    return 0\n\n\ndef _keep_possible"),
    (
        "search",
        "    keep(search, kept)\n    return 0\n\n\ndef _holds_together",
        "    return 0\n\n\ndef _holds_together",
    ),
    ("views", "bit_of_field(name_hash) | bit_of_value(name_hash, value_hash)", "bit_of_field(name_hash)"),
    ("needs", "bit_of_value(name_hash, mix(hash(criterion.value)))", "bit_of_value(name_hash, name_hash)"),
    ("needs", "        needs |= _bits_of(criterion)", "        needs |= 1"),
    ("needs", "if type(criterion) not in _NEED_THEIR_FIELD:", "if False:"),
    ("search", "elif not has_field(search, key_in(cells)):", "else:"),
    ("search", "    if any_of(field) is not borrow(None):", "    if False:"),
    (
        "search",
        "if is_new(address(seen), key_in(as_node(items[i])) if of_subscriber else as_node(items[i])):",
        "if True:",
    ),
    ("index", "    if _is_empty(after):\n", "    if False:\n"),
    ("index", "count = index.count + (new is not None) - (old is not None)", "count = index.count + 1"),
    ("index", "    if old is not None and new is None and count < CROWDED // 4:", "    if False:"),
    ("search", "    if whole_of(index) is not borrow(None):", "    if False:"),
    (
        "index",
        "for value in criterion.values_filed():\n            values =",
        "for value in list(criterion.values_filed())[:1]:\n            values =",
    ),
    ("state", "new.key = delivery[0] if owner is None else owner.key", "new.key = delivery[0] + 0.0"),
    ("search", "begin(address(search), message, words, delivers)", "begin(address(search), message, words, False)"),
    ("state", "if subscribed.hash == hash and asks(subscribed, criteria):", "if True:"),
    ("state", "added = (new is not None) - (old is not None)", "added = 1"),
    ("names", "count = by if found is None else found.value + by", "count = by"),
    ("names", "if count else None", "if count > 1 else None"),
    ("state", "return state.count != set_size(cython.cast(object, owners_of(state)))", "return False"),
    ("state", "if not criterion.is_implied_by(access)]", "if criterion.place != access.place]"),
    ("state", "clues = _refiled_under(clues, access_of_clue(row.key), row.clue, None)", "pass"),
    ("state", "clue.rest = None if criterion.is_found_exactly() else criterion", "clue.rest = None"),
]


@pytest.mark.parametrize(("module", "text", "replacement"), FAULTS, ids=[text[:50] for _, text, _ in FAULTS])
def test_a_fault_is_noticed(module: str, text: str, replacement: str) -> None:
    fields = fields_with(Fault(text, f"subtrie.fields.{module}", text, replacement))
    with pytest.raises((AssertionError, AttributeError, TypeError, KeyError)):
        models(fields)
