"""Linearizability testing for concurrent Python objects: record histories, judge them, and explain what is
wrong with them.

    import stress

    class CounterSpec(stress.Spec):
        initial = 0
        def step(self, state, op, args):
            return (state + 1, state + 1) if op == "increment" else (state, state)

    outcome = stress.run(MyCounter, CounterSpec(), [("increment",), ("value",)], threads=2, duration=5)
    assert outcome, outcome.report()

`run` lets threads meet by chance, `explore` under every schedule. `docs/stress.md` is the manual. `python -m stress` is
the command line, and `stress.plugin` the pytest plugin.
"""

try:
    import sortedcontainers  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("stress needs sortedcontainers: pip install 'ctrie[stress]'") from missing

from stress.campaign import Outcome, run
from stress.check import Budget, Failure, Judgement, Verdict, check, is_linearizable
from stress.explorer.own import Explored, explore
from stress.explorer.switch_point import switch_point
from stress.history import UNSEEN, History, HistoryError, Opaque, Operation, Raised, freeze
from stress.read import read_history
from stress.record import Deferred, Stuck, record
from stress.spec import EVERYTHING, WAITS, Excerpt, FrozenMap, PerKey, Spec, SpecError
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
    Subscriptions,
)
from stress.workload import Workload, one_of, unique

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
    "Set",
    "Spec",
    "SpecError",
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
    "switch_point",
    "unique",
]
