"""The pytest plugin of `stress`, which pytest finds on installation. It has a fixture that puts an object under stress,
a marker for that fixture's settings, and a fixture that executes every schedule.

    from subtrie import stress

    def test_counter(linearizable):
        linearizable(MyCounter, CounterSpec(), [("increment",), ("value",)])

    @pytest.mark.stress(threads=4, duration=30, seed=7)
    def test_counter_for_long(linearizable): ...

    def test_stack(every_schedule):
        every_schedule(MyStack, StackSpec(), [[("push", 1)], [("push", 2), ("pop",)]])

A test fails if a history is refuted, an operation hangs, an invariant breaks, or a history could not be judged. The
message begins with the seed. `--stress-seed` and `--stress-duration` override the settings of the tests, to repeat a
failure or to run longer.

Every project whose environment has subtrie loads this file. So it imports `stress` only where one of its fixtures is
used, and where the project has another `stress`, a test that asks for one fails with a sentence that says so.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stress.explorer.explore import Explored
    from stress.recorder.outcome import Outcome
    from stress.spec import Spec

__all__ = ["every_schedule", "linearizable"]

Linearizable = Callable[..., "Outcome"]
EverySchedule = Callable[..., "Explored"]


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:  # true for NaN, too
        raise argparse.ArgumentTypeError(f"must be more than 0, not {text}")
    return seconds


def _ours() -> Any:
    """Our `stress`. A test in a project that has another one fails here. The tries are not imported, which may not have
    been compiled.
    """
    spec = importlib.util.spec_from_file_location("_ours", Path(__file__).with_name("subtrie") / "_ours.py")
    assert spec is not None
    assert spec.loader is not None
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    place = ours.somebody_elses("stress")
    if place:
        pytest.fail(
            f"the fixtures of subtrie's stress stay away, since `import stress` finds {place} here: call "
            "`subtrie.stress.run` or `subtrie.stress.explore` instead",
            pytrace=False,
        )
    import stress

    return stress


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("stress", "linearizability testing")
    group.addoption("--stress-seed", type=int, metavar="N", help="the seed of every stress test")
    group.addoption("--stress-duration", type=_seconds, metavar="SECONDS", help="how long every stress test runs")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "stress(**settings): settings of stress.run for the `linearizable` fixture of a test"
    )


@pytest.fixture
def linearizable(request: pytest.FixtureRequest, tmp_path: Path) -> Linearizable:
    """`linearizable(factory, spec, operations, **settings)`: calls `stress.run`; the test fails unless the outcome is
    true.
    """

    stress = _ours()

    def under_stress(
        factory: Callable[[], Any], spec: Spec, operations: Sequence[tuple[Any, ...]], **settings: Any
    ) -> Outcome:
        outcome: Outcome = stress.run(factory, spec, operations, **_settings(request, settings))
        if not outcome:
            pytest.fail(_message(outcome, tmp_path), pytrace=False)
        return outcome

    return under_stress


@pytest.fixture
def every_schedule(request: pytest.FixtureRequest) -> EverySchedule:
    """`every_schedule(factory, spec, threads, **settings)`: calls `stress.explore`; the test fails unless the outcome
    is true. The marker and `--stress-duration` have no effect on it: an exploration ends by itself.
    """

    stress = _ours()

    def under_every_schedule(
        factory: Callable[[], Any], spec: Spec, threads: Sequence[Sequence[tuple[Any, ...]]], **settings: Any
    ) -> Explored:
        seed = request.config.getoption("--stress-seed")
        given = settings if seed is None else {**settings, "seed": seed}
        outcome: Explored = stress.explore(factory, spec, threads, **given)
        if not outcome:
            pytest.fail(outcome.report(), pytrace=False)
        return outcome

    return under_every_schedule


def _settings(request: pytest.FixtureRequest, given: dict[str, Any]) -> dict[str, Any]:
    """The settings: the command line takes precedence over the call, and the call over the marker."""
    settings: dict[str, Any] = {"duration": 2.0, "seed": SystemRandom().randrange(2**32)}
    for marker in reversed(list(request.node.iter_markers("stress"))):
        settings |= marker.kwargs
    settings |= given
    for name in ("seed", "duration"):
        value = request.config.getoption(f"--stress-{name}")
        if value is not None:
            settings[name] = value
    return settings


def _message(outcome: Outcome, folder: Path) -> str:
    advice = f"stress seed {outcome.seed}: {outcome.summary}\nTo run it again: pytest --stress-seed={outcome.seed}"
    if outcome.history is not None:
        outcome = outcome.save(str(folder / "stress-failure.jsonl"))
    report = outcome.report().partition("\n")[2]
    return f"{advice}\n{report}"
