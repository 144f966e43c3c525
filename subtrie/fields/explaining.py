"""Why a message meets criteria, or does not: each criterion with the value that it was asked of, as text.

Whether all is met is what a matcher answers. Each line is what its criterion answers, so every kind of criterion is
known here, a user's own types, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from subtrie.fields.combined import AnyOf, Not, listed
from subtrie.fields.criteria import Criterion
from subtrie.fields.events import Elements, flattened
from subtrie.fields.matcher import FieldMatcher, Message
from subtrie.fields.patterns import as_json, to_pattern
from subtrie.fields.short import MOST, short

_MOST_VALUES = 8  # of a field in a list, that are shown


def explain(criteria: Iterable[Criterion], message: Message) -> str:
    """Return a text that says whether a message meets criteria, and of each one whether it holds, and of which value.

    The first line is the verdict, as `FieldMatcher.match_all` finds it. Then a line for each criterion follows, by the
    names of their fields, with a line for each of its own below an `AnyOf`. What was read from a pattern is shown as it
    says that. Values in lists may meet each criterion and
    still not all together, and then a last line says so. Raises as `FieldMatcher.subscribe` and `match_all`.
    O(size of the message) for each criterion.

    >>> from subtrie.fields import Equals, GreaterThan, Suffix
    >>> print(explain([Equals("currency", "EUR"), GreaterThan("amount", 100), Suffix("shop", ".eu")],
    ...               {"currency": "EUR", "amount": 12}))
    not met
      fails: GreaterThan('amount', 100): the field is 12
      holds: Equals('currency', 'EUR'): the field is 'EUR'
      fails: Suffix('shop', '.eu'): there is no such field
    """
    asked = listed(criteria)
    matcher: Any = FieldMatcher(max(len(asked), 64), max_values=sys.maxsize)
    matcher.subscribe(asked, 0)
    is_met = bool(matcher.match_all(message))
    flat = flattened(message)
    lines = ["met" if is_met else "not met"]
    for criterion in sorted(asked, key=lambda one: (str(one.name), short(one))):
        lines += _lines(criterion, flat, 1, criterion.written is not None)
    if not is_met and all(criterion.may_be_met_by(flat) for criterion in asked):
        lines.append("  but no elements of lists that belong together meet them all")
    return "\n".join(lines)


def _words(criterion: Any, is_pattern: bool) -> str:
    """Return a criterion as its author says it: as a JSON pattern if it was read from one."""
    if not is_pattern:
        return short(criterion)
    try:
        text = as_json(to_pattern([criterion]))
    except ValueError:  # of a part of a pattern that no pattern says by itself
        return short(criterion)
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


def _lines(criterion: Any, flat: dict[str, Any], depth: int, is_pattern: bool) -> Iterator[str]:
    verdict = "holds" if criterion.may_be_met_by(flat) else "fails"
    indent = "  " * depth
    if isinstance(criterion, AnyOf):
        yield f"{indent}{verdict}: one of these"
        for way in criterion.alternatives:
            if len(way) == 1:
                yield from _lines(way[0], flat, depth + 1, is_pattern)
                continue
            yield f"{indent}  {'holds' if all(one.may_be_met_by(flat) for one in way) else 'fails'}: all of these"
            for one in way:
                yield from _lines(one, flat, depth + 2, is_pattern)
        return
    yield f"{indent}{verdict}: {_words(criterion, is_pattern)}: {_told(criterion.name, flat)}"
    if isinstance(criterion, Not) and isinstance(criterion.criterion, AnyOf):
        yield from _lines(criterion.criterion, flat, depth + 1, is_pattern)


def _told(name: Any, flat: dict[str, Any]) -> str:
    """Return what a message has in a field."""
    if name not in flat:
        return "there is no such field"
    value = flat[name]
    if type(value) is not Elements:
        return f"the field is {short(value)}"
    shown = ", ".join(short(one) for one in value[:_MOST_VALUES])
    more = f" and {len(value) - _MOST_VALUES} more" if len(value) > _MOST_VALUES else ""
    return f"the field has {shown}{more}"
