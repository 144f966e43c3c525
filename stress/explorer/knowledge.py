"""What an exploration has found out about a program: what changes, what threads share, and which code runs. It only
grows. If it grew during an exploration, that begins again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

__all__ = ["Knowledge", "NewCode"]


class NewCode(BaseException):
    """Code without steps was about to run; it is known now."""


@dataclass
class Knowledge:
    """What is known of a program: the `names` of attributes that change, those of classes' attributes, the changing
    `variables` of modules and closures, the containers that change (`items`), the kinds of objects that several threads
    `share`; loops that read the same again and again, those that `end` by themselves and those that go in `circles`;
    and the codes that ran.
    """

    names: set[str] = field(default_factory=set)
    of_classes: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    ends: set[str] = field(default_factory=set)
    circles: set[str] = field(default_factory=set)
    codes: dict[int, CodeType] = field(default_factory=dict)
    alike: dict[CodeType, int] = field(default_factory=dict)
    grew: bool = False

    def has_grown(self) -> bool:
        """Whether anything was added since the exploration began."""
        return self.grew

    def told(self) -> list[list[str]]:
        """All but the codes, as a token holds it."""
        return [sorted(known) for known in self._sets()]

    def hear(self, told: Sequence[Iterable[str]]) -> None:
        """Add what a token holds."""
        for known, more in zip(self._sets(), told, strict=False):
            known.update(more)

    def _sets(self) -> tuple[set[str], ...]:
        return self.names, self.of_classes, self.variables, self.items, self.shared, self.ends, self.circles

    def learn(self, known: set[Any], new: Any) -> None:
        """Add something to one of the sets."""
        if new not in known:
            known.add(new)
            self.grew = True
