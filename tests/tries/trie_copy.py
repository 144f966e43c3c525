"""A copy of both tries to explore: its seam, the machine that runs on it, and objects in the states of `STARTS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from stress.explorer.coroutines import Coroutines
from stress.explorer.machine import Machine
from stress.explorer.slots import Seam
from tests.tries.field_subjects import FieldsUnderTest, RoutesUnderTest
from tests.tries.hashes import HASHES, SUBSCRIBER_HASHES, W, raw_hash
from tests.tries.scenarios import Start
from tests.tries.source_copy import PACKAGES, Change, import_privately, interpreted_twin
from tests.tries.stand_ins import slot_module, threading_module
from tests.tries.targets import (
    ExclusionsUnderTest,
    MapUnderTest,
    SharesUnderTest,
    StoreUnderTest,
    SubscriptionsUnderTest,
)

NOTICES: Final = ("on_interest", "on_group_interest")
"""Settings of a trie with a listener."""


class Listener:
    """Receives notices: which filters, or groups of filters, are wanted. `broken` is the fault of a notice, if any."""

    def __init__(self) -> None:
        self.wanted: frozenset[tuple[Any, ...]] = frozenset()
        self.broken = ""

    def __call__(self, *notice: Any) -> None:
        """Receive a notice."""
        *watched, wanted = notice
        what = tuple(watched)
        if wanted == (what in self.wanted):
            self.broken = f"the listener is told twice in turn that {what!r} is {'' if wanted else 'not '}wanted"
        self.wanted = self.wanted | {what} if wanted else self.wanted - {what}


class TrieCopy:
    """A private copy of the interpreted packages. `modules` has them by name, `nodes` is `ctrie._nodes`."""

    def __init__(self, modules: dict[str, ModuleType], seam: Seam, coroutines: Coroutines | None = None) -> None:
        self.modules, self.seam = modules, seam
        self.nodes: Any = modules["ctrie._nodes"]
        self.machine = Machine(seam, coroutines)
        self._seed: Any = vars(modules["subtrie._trie.draws"])["seed"]

    def begin(self) -> None:
        """An execution begins. Schedules are repeated, so what is drawn by lot must be, too."""
        self._seed(0)

    def make(self, target: str, start: Start) -> Any:
        """An object in the state `start`."""
        settings = dict(start.settings)
        for setting in NOTICES:
            if start.has(setting):
                settings[setting] = Listener()
        subject = self.empty(target, **settings)
        for op, args in start.calls:
            getattr(subject, op)(*args)
        if start.left is not None:
            (op, args), changes = start.left
            suspend(self.seam, lambda: getattr(subject, op)(*args), changes)
        return subject

    def empty(self, target: str, **settings: Any) -> Any:
        """An empty object. `settings` are those of a subscription trie."""
        subtrie: Any = self.modules["subtrie"]
        fields: Any = self.modules["subtrie.fields"]
        match target:
            case "map":
                return MapUnderTest(self.modules["ctrie"].Ctrie(hash=raw_hash))
            case "topics":
                all_topics = subtrie.SubscriptionTrie()
                all_topics.subscribe("#", "x")
                return StoreUnderTest(subtrie.TopicStore(), all_topics.snapshot())
            case "fields":
                return FieldsUnderTest(fields, fields.FieldMatcher())
            case "routes":
                return RoutesUnderTest(fields, fields.RoutingMatcher())
            case "exclusions":
                return ExclusionsUnderTest(subtrie.SubscriptionTrie(**settings))
            case "shares":
                return SharesUnderTest(subtrie.SubscriptionTrie(subtrie.MQTT, **settings))
        return SubscriptionsUnderTest(subtrie.SubscriptionTrie(**settings))


class _Stopped(BaseException):
    """A thread stops here for ever."""


def suspend(seam: Any, operation: Callable[[], object], after_changes: int) -> None:
    """Run an operation until it has changed slots this many times, and never any further. (A suspension between two
    changes would leave the same behind as one right after the first change.)
    """
    left = iter(range(after_changes - 1))

    def after(_: object) -> None:
        if next(left, None) is None:
            raise _Stopped

    seam.after = after
    try:
        operation()
    except _Stopped:
        return
    finally:
        seam.after = None
    raise AssertionError(f"it has ended, and made no {after_changes} changes")


LEVELS: Final = 4
"""The levels of the longest path of `HASHES`: more levels between it and an L-node would add nothing new."""


def explore_waits(modules: Mapping[str, ModuleType], seam: Any) -> None:
    """Let the code that waits by design, or asks which thread it runs in, ask the scheduler on `seam`."""
    explored = threading_module(seam)
    vars(modules["ctrie._tally"])["TELLS"] = False
    for name in ("ctrie._creation", "ctrie._thread_owner"):
        vars(modules[name])["threading"] = explored


def load_copy(changes: Sequence[Change] = (), coroutines: Coroutines | None = None) -> TrieCopy:
    """Import a private copy of both packages, with `changes` applied to the sources. Names are on the paths of
    `HASHES`, and subscribers on those of `SUBSCRIBER_HASHES`. The copy reads only four levels of a name's hash, so that
    a collision does not take eleven levels, and three threads with one can be explored to the end. All threads remember
    their answers in one place. Calls for many topics traverse each as a group of its own (interleaved.py), which would
    otherwise take memory that can be fetched in advance.
    """
    seam = Seam()
    instead = {"ctrie._slot": slot_module(seam), "ctrie._build_choice": interpreted_twin()}
    modules = import_privately((*PACKAGES, "subtrie.fields"), instead, changes)
    vars(modules["ctrie._nodes"])["HASH_BITS"] = LEVELS * W
    explore_waits(modules, seam)
    stripes: int = vars(modules["subtrie._trie.match.answer_cache"])["STRIPES"]
    for name in ("interleaved", "steps", "batches"):
        vars(modules[f"subtrie._trie.match.{name}"]).update(PREFETCHES=True, GROUP=1, FEWEST=1)
    for module in modules.values():
        if hasattr(module, "own_stripe"):
            vars(module)["own_stripe"] = lambda kind: kind * stripes
        for name, known in (("word_hash", HASHES), ("subscriber_hash", SUBSCRIBER_HASHES)):
            hash_of = vars(module).get(name)
            if hash_of is not None:
                vars(module)[name] = lambda it, hash_of=hash_of, known=known: known.get(it) or hash_of(it)
    return TrieCopy(modules, seam, coroutines)
