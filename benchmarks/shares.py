"""What a member of a group gets if who comes and goes depends on who was served: `python -m benchmarks.shares`.

Due to a member is one n-th of each message that could go to n members. Each schedule has members that stay, and changes
something as soon as it sees who got a message. Shown is what those that stay got of what was due to them: the one that
got least, and the one that got most. Changes that do not depend on who was served are in tests/subtrie/test_shares.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from subtrie import MQTT, SubscriptionTrie

FILTER, TOPIC = "$share/w/jobs", "jobs"
Schedule = Callable[["Group", Any, int], None]


class Group:
    """A group with `stay` members that are numbers, and others."""

    def __init__(self, stay: int, trie: Any) -> None:
        self.stay = stay
        self.others: list[Any] = []
        self.back = 0  # the message before which somebody comes back
        self.before: Any = None  # who was served before, since the last change
        self.seen: dict[bool, set[Any]] = {False: set(), True: set()}  # after whom it was member 0's turn
        self.trie = trie
        for number in range(stay):
            self.trie.subscribe(FILTER, number)

    def join(self, who: Any) -> None:
        self.others.append(who)
        self.trie.subscribe(FILTER, who)

    def leave(self, who: Any) -> None:
        self.others.remove(who)
        self.trie.unsubscribe(FILTER, who)

    def toggle(self, who: Any) -> None:
        (self.leave if who in self.others else self.join)(who)


def leaves_when_served(group: Group, served: Any, number: int) -> None:
    """One leaves when it was served, and is back three messages later."""
    if served == "other":
        group.leave("other")
        group.back = number + 3
    elif "other" not in group.others and number >= group.back:
        group.join("other")


def ten_leave_when_served(group: Group, served: Any, number: int) -> None:
    """Each of ten others leaves when it was served, and comes back at once."""
    if number == 0:
        for other in range(10):
            group.join(f"other {other}")
    elif served in group.others:
        group.leave(served)
        group.join(served)


def joins_when_served(group: Group, served: Any, number: int) -> None:
    """A new member joins when member 0 was served, and the oldest of four new ones leaves."""
    if served == 0:
        group.join(f"new {number}")
        if len(group.others) > 3:
            group.leave(group.others[0])


def against_one(group: Group, served: Any, number: int) -> None:
    """Somebody comes or goes each time that somebody was served after whom it was member 0's turn before."""
    seen = group.seen["other" in group.others]
    if served == 0 and group.before is not None:
        seen.add(group.before)
    group.before = served
    if served in seen:
        group.toggle("other")
        group.before = None


SCHEDULES: tuple[Schedule, ...] = (leaves_when_served, ten_leave_when_served, joins_when_served, against_one)


def shares(schedule: Schedule, stay: int, messages: int, trie: Any = None) -> list[float]:
    """Return what each member that stays got, in parts of what was due to it; in a trie of MQTT, which is empty."""
    group = Group(stay, SubscriptionTrie[Any](MQTT) if trie is None else trie)
    got, due = [0] * stay, 0.0
    for number in range(messages):
        due += 1 / (stay + len(group.others))
        (served,) = group.trie.match(TOPIC)
        if isinstance(served, int):
            got[served] += 1
        schedule(group, served, number)
    return [one / due for one in got]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shares", description=__doc__)
    parser.add_argument("--messages", type=int, default=40_000)
    options = parser.parse_args()
    for stay in (3, 6, 10):
        for schedule in SCHEDULES:
            found = shares(schedule, stay, options.messages)
            print(f"{stay:3} stay, {schedule.__name__:24} least {min(found):.2f}, most {max(found):.2f}", flush=True)


if __name__ == "__main__":
    main()
