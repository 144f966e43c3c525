"""Faults put into the field engine, one at a time: each is noticed by the random walks of test_stateful.py.

The explorer's catalogue of mutants has the faults in state that several threads share.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.fields.drawn import THEMES
from tests.fields.test_stateful import walk
from tests.twins import Fault, load_twin

pytestmark = [
    pytest.mark.once,  # the same interpreted source, whatever twin the tests run
    pytest.mark.slow("says of other tests that they notice faults, and nothing of the package itself"),
]


def walks(fields: Any) -> None:
    """A fault in what is decided by hashes shows in most walks, and not in every one."""
    for seed, (name, theme) in enumerate(THEMES.items()):
        for begin, steps in ((0, 25), (200, 8)):
            walk(theme, Random(f"{seed} {name}"), begin, steps, fields)


def fields_with(fault: Fault | None) -> Any:
    return load_twin(fault, ("ctrie", "subtrie", "subtrie.fields")).modules["subtrie.fields"]


def test_without_a_fault() -> None:
    walks(fields_with(None))


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
    with pytest.raises((AssertionError, AttributeError, TypeError, LookupError)):
        walks(fields)
