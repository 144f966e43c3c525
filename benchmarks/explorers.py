"""Two explorers of schedules on the same objects: `stress.explore` and the package `frontrun` (PyPI). Prints a table;
docs/stress/explorer.md has its totals.

    pip install frontrun greenlet && python -m benchmarks.explorers

Each object of `tests/stress/classes` that is named here is explored by each tool in a process of its own. `stress`
judges the answers by a specification; for frontrun the same is said as an invariant of the answers. Seconds are those
of the exploration alone, by the clock of the processor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

__all__ = ["main"]

NAMES: Final = [
    "OfDescriptor",
    "OfGetattr",
    "OfMetaclass",
    "OfDataclass",
    "OfReplace",
    "OfNamedTuple",
    "OfSlots",
    "OfCachedProperty",
    "OfVars",
    "OfClassVariable",
    "OfClosure",
    "OfGenerator",
    "OfFinally",
    "OfContextManager",
    "OfMatch",
    "OfText",
    "OfComparison",
    "OfReduce",
    "OfHeap",
    "OfDeque",
    "OfOrderedDict",
    "OfBag",
    "OfDefaultDict",
    "OfArray",
    "OfStruct",
    "OfMemoryView",
    "OfCopy",
    "OfWeakReference",
    "OfLocal",
    "OfCondition",
    "OfSemaphore",
    "OfEvent",
    "OfTryLock",
    "OfModule",
    "OfSlotDescriptor",
    "OfCell",
    "OfConfiguration",
    "OfPickle",
    "OfReplacedMethod",
    "OfFinalizer",
    "OfStarmap",
    "OfOwnArray",
    "OfDescriptorUnderLock",
    "OfExitStack",
    "OfConditionWaitFor",
    "OfSemaphoreOfOne",
    "OfQueue",
    "OfRLock",
    "OfCount",
    "OfSetDefault",
    "OfFuture",
    "OfVersion",
    "OfTickets",
    "OfPeterson",
    "OfReadersAndWriters",
    "OfDequeOfTokens",
]
_SECONDS: Final = 30
_LONGER: Final = 60


def _by_stress(name: str) -> dict[str, Any]:
    import stress
    from tests.stress.cases import case_named

    with case_named(name).made() as factory:
        spec, threads, _ = case_named(name).asked(factory)
        began = time.process_time()
        outcome = stress.explore(factory, spec, threads, seed=1, duration=_SECONDS)
    said = {"linearizable": "right", "NOT linearizable": "wrong"}.get(outcome.verdict.value, "undecided")
    return {"said": said, "executions": outcome.executions, "seconds": time.process_time() - began}


def _by_frontrun(name: str) -> dict[str, Any]:
    from tests.stress.cases import case_named

    with case_named(name).made() as factory:
        _, threads, _ = case_named(name).asked(factory)
        return _of_frontrun(factory, threads)


def _of_frontrun(factory: Any, threads: Any) -> dict[str, Any]:
    class Called:
        def __init__(self) -> None:
            self.subject = factory()
            self.answers: dict[int, Any] = {}

    def worker(number: int, op: str, args: tuple[Any, ...]) -> Any:
        def work(called: Called) -> None:
            called.answers[number] = getattr(called.subject, op)(*args)

        return work

    def fits(called: Called) -> bool:
        got = sorted(called.answers.items())
        answers = [answer for _, answer in got]
        op = threads[0][0][0]
        if op == "increment":
            return sorted(answers) == [1, 2]
        if op == "put":
            return answers[1] in ((0, 0), (1, 1))
        return sum(answers) == 1 if op == "take" else answers == [(1, 2), (1, 2)]

    workers = [worker(number, *_parts(calls[0])) for number, calls in enumerate(threads)]
    began = time.process_time()
    frontrun: Any = import_module("frontrun")
    result = frontrun.explore(
        Called, workers, fits, preemption_bound=None, total_timeout=_SECONDS, reproduce_on_failure=0
    )
    said = {True: "right", False: "wrong", None: "undecided"}[result.property_holds]
    return {"said": said, "executions": result.num_explored, "seconds": time.process_time() - began}


def _parts(call: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    return call[0], call[1:]


_TOOLS: Final = {"stress": _by_stress, "frontrun": _by_frontrun}


def _told(tool: str, name: str) -> dict[str, Any]:
    """What a tool says of an object, in a process of its own."""
    runner = [os.path.join(os.path.dirname(sys.executable), "frontrun")] if tool == "frontrun" else []
    command = [*runner, sys.executable, "-m", "benchmarks.explorers", tool, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGER, check=False)
    except subprocess.TimeoutExpired:
        return {"said": "no end", "executions": 0, "seconds": _LONGER}
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"said": "error", "executions": 0, "seconds": 0.0}
    return found


def main() -> None:
    """Print the table; or, with a tool and a name, what that tool says of that object."""
    if len(sys.argv) == 3:
        print(json.dumps(_TOOLS[sys.argv[1]](sys.argv[2])))
        return
    from tests.stress.cases import case_named

    right = dict.fromkeys(_TOOLS, 0)
    undecided = dict.fromkeys(_TOOLS, 0)
    print(f"stress, and frontrun {version('frontrun')}, on Python {sys.version.split()[0]}:\n")
    print("| object | is | stress: says | executions | seconds | frontrun: says | executions | seconds |")
    print("|---|---|---|---:|---:|---|---:|---:|")
    for name in NAMES:
        truth = case_named(name).verdict
        row = [f"`{name}`", truth]
        for tool in _TOOLS:
            told = _told(tool, name)
            right[tool] += told["said"] == truth
            undecided[tool] += told["said"] not in ("right", "wrong")
            said = told["said"] if told["said"] in (truth, "undecided", "error", "no end") else f"**{told['said']}**"
            row += [said, f"{told['executions']:,}", f"{told['seconds']:.2f}"]
        print(f"| {' | '.join(row)} |", flush=True)
    totals = [f"{tool}: {right[tool]} of {len(NAMES)} true, {undecided[tool]} undecided" for tool in _TOOLS]
    print(f"\n{'; '.join(totals)}.")


if __name__ == "__main__":
    main()
