"""Linearizability testing for concurrent Python objects: record histories, judge them, and explain what is
wrong with them. A package of the subtrie distribution; `subtrie.stress` is the same, also where another `stress` is
found first.

    from subtrie import stress

    class CounterSpec(stress.Spec):
        initial = 0
        def step(self, state, op, args):
            return (state + 1, state + 1) if op == "increment" else (state, state)

    outcome = stress.run(MyCounter, CounterSpec(), [("increment",), ("value",)], threads=2, duration=5)
    assert outcome, outcome.report()

`run` lets threads meet by chance; `explore` executes every schedule. `docs/stress.md` is the manual. `python -m stress`
is the command line, and `subtrie_pytest` the pytest plugin.

Each name below is imported when it is first used, so an installation that does not use it pays nothing.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stress.by_key import FrozenMap, PerKey
    from stress.checker.check import Budget, Failure, Judgement, Verdict, check, is_linearizable
    from stress.explorer.explore import Explored, explore
    from stress.explorer.policy import treat
    from stress.explorer.scenario import Scenarios
    from stress.formats.read import read_history
    from stress.history import UNSEEN, History, HistoryError, Opaque, Operation, Raised, freeze
    from stress.recorder.outcome import Outcome
    from stress.recorder.record import Deferred, Stuck, record
    from stress.recorder.running import run
    from stress.recorder.workload import Workload, one_of, unique
    from stress.spec import EVERYTHING, WAITS, Excerpt, Spec, SpecError
    from stress.specs import (
        SPECS,
        Counter,
        KeyValue,
        Map,
        MultiRegister,
        Mutex,
        Queue,
        Register,
        Set,
        Stack,
        Subscriptions,
    )

_HOMES = {
    "by_key": "FrozenMap PerKey",
    "checker.check": "Budget Failure Judgement Verdict check is_linearizable",
    "explorer.explore": "Explored explore",
    "explorer.scenario": "Scenarios",
    "explorer.policy": "treat",
    "formats.read": "read_history",
    "history": "UNSEEN History HistoryError Opaque Operation Raised freeze",
    "recorder.outcome": "Outcome",
    "recorder.record": "Deferred Stuck record",
    "recorder.running": "run",
    "recorder.workload": "Workload one_of unique",
    "spec": "EVERYTHING WAITS Excerpt Spec SpecError",
    "specs": "SPECS Counter KeyValue Map MultiRegister Mutex Queue Register Set Stack Subscriptions",
}
_HOME_OF = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "EVERYTHING",
    "SPECS",
    "UNSEEN",
    "WAITS",
    "Budget",
    "Counter",
    "Deferred",
    "Excerpt",
    "Explored",
    "Failure",
    "FrozenMap",
    "History",
    "HistoryError",
    "Judgement",
    "KeyValue",
    "Map",
    "MultiRegister",
    "Mutex",
    "Opaque",
    "Operation",
    "Outcome",
    "PerKey",
    "Queue",
    "Raised",
    "Register",
    "Scenarios",
    "Set",
    "Spec",
    "SpecError",
    "Stack",
    "Stuck",
    "Subscriptions",
    "Verdict",
    "Workload",
    "check",
    "explore",
    "freeze",
    "is_linearizable",
    "one_of",
    "read_history",
    "record",
    "run",
    "treat",
    "unique",
]


def __getattr__(name: str) -> Any:
    """Import and return the object named `name`."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'stress' has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(_HOME_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
