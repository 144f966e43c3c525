"""Rules by content: alarms on orders, changed while orders come.

    python examples/rules_by_content.py

Rules are JSON patterns, as event routers such as Amazon EventBridge take them. Each has
a number, and says whom to tell and how urgent it is. An order is an event of JSON with
a list of items. Threads match while another one changes a rule: each order is judged by
the old rule or by the new one, and never by both or by none.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from subtrie.fields import Criterion, FieldMatcher, explain, from_pattern, pattern_rows

Alarm = tuple[int, str]
"""How urgent it is (1 is most), and whom to tell."""


class Rules:
    """Rules. Any number of threads may match; one thread at a time changes rules."""

    def __init__(self) -> None:
        self._matcher: FieldMatcher[int] = FieldMatcher()
        self._criteria: dict[int, list[Criterion]] = {}

    def add(self, number: int, pattern: str, **options: Any) -> None:
        """Make a rule; ValueError if the pattern is none."""
        self._criteria[number] = list(from_pattern(pattern))
        self._matcher.subscribe(self._criteria[number], number, **options)

    def change(self, number: int, pattern: str) -> None:
        """Let a rule ask for something else, in one change. Its options stay."""
        criteria = list(from_pattern(pattern))
        self._matcher.replace(self._criteria[number], criteria, number)
        self._criteria[number] = criteria

    def remove(self, number: int) -> None:
        self._matcher.unsubscribe(self._criteria.pop(number), number)

    def alarms(self, event: dict[str, Any]) -> list[Alarm]:
        """Whom to tell of an event, the most urgent first."""
        found = self._matcher.deliveries(event)
        return sorted((one.options["urgency"], one.options["tell"]) for one in found)

    def why(self, number: int, event: dict[str, Any]) -> str:
        """Why a rule holds for an event, or does not, in the words of its pattern."""
        return explain(self._criteria[number], event)

    def rows(self) -> list[tuple[int, str, dict[str, Any]]]:
        """All rules of one instant, to be written to a file and added again."""
        rows = pattern_rows(self._matcher)
        return sorted((n, pattern, dict(options)) for pattern, n, options in rows)


LARGE = '{"total": [{"numeric": [">=", 1000]}], "country": [{"anything-but": "NL"}]}'
GLASS = '{"items": {"kind": ["glass"], "count": [{"numeric": [">", 10]}]}}'
VASES = '{"items": {"name": [{"prefix": "vase"}]}, "state": [{"exists": false}]}'


def order(total: int, country: str, *items: tuple[str, str, int]) -> dict[str, Any]:
    rows = [{"kind": kind, "name": name, "count": n} for kind, name, n in items]
    return {"total": total, "country": country, "items": rows}


def main() -> None:
    rules = Rules()
    rules.add(1, LARGE, tell="sales", urgency=2)
    rules.add(2, GLASS, tell="packing", urgency=1)
    rules.add(3, VASES, tell="packing", urgency=3)
    orders = [
        order(1500, "DE", ("glass", "bowl", 12)),
        order(1500, "NL", ("glass", "bowl", 2), ("wood", "vase, red", 40)),
        order(20, "FR", ("glass", "jar", 3)),
    ]
    for number, each in enumerate(orders):
        print(f"order {number}:", rules.alarms(each))
    print("rule 2 and order 1:", rules.why(2, orders[1]))

    with ThreadPoolExecutor(4) as threads:
        answers = threads.map(lambda _: rules.alarms(orders[0]), range(2_000))
        for n in range(200):
            rules.change(1, LARGE.replace("1000", str(1000 + n % 2)))
    print("while rule 1 changed:", {tuple(each) for each in answers})

    rules.remove(1)
    again = Rules()
    for number, pattern, options in rules.rows():
        again.add(number, pattern, **options)
    print("without it:", again.alarms(orders[0]))


if __name__ == "__main__":
    main()
