"""What is known of one execution: the objects that it has met, and what is under way in its threads. It is made anew
for each, so nothing of an execution lives on in the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stress.explorer.slots import MAIN

__all__ = ["Present"]


@dataclass(slots=True)
class Present:
    """One execution, or calls that are made one after another."""

    lying: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """Where the parts of the objects lie that the factory made."""
    touched: dict[int, list[Any]] = field(default_factory=dict)
    """Other objects, each with its name, the thread that touched it first, and whether that made it."""
    spaces: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """The dictionaries that hold attributes, with their objects."""
    twins: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """Real locks that were made before, each with the explored one that stands for it."""
    marks: dict[int, tuple[int, Any, bool]] = field(default_factory=dict)
    """The steps of instructions that run and may call back, each by the identity of its frame. That may have ended:
    another one passes the site of an instruction first."""
    calls_back: bool = False
    """Whether the present instruction may call a method in C that changes something, or takes items."""
    turns: int = 0
    """How often loops have begun again since that was looked at."""
    spins_at: tuple[int, int] = (MAIN, MAIN)
    """The step and the thread when it was looked at."""
    rounds: int = 0
    """How often it was looked at since then, with no step in between."""
