"""The objects that `run` and `explore` test: this distribution's own tries by name, or objects in users' code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from stress.formats.read import make_spec
from stress.recorder.workload import Workload
from stress.reference import found_at
from stress.spec import Spec

__all__ = ["TARGETS", "alone", "found", "named"]

try:
    from stress.tries.targets import TARGETS
except ModuleNotFoundError:  # the tries, or their test bench, are not here
    TARGETS: dict[str, Callable[[], list[Workload]]] = {}  # type: ignore[no-redef]


def found(name: str, spec: str | None) -> list[Workload]:
    """The workloads of that name: one of `TARGETS`, or ``module:attribute`` for a `Workload`, a list of them, or a
    factory of objects. `spec` names the specification, if the name does not imply one.

    Raises:
        ValueError: there are none; the message says what was looked for.
    """
    if name in TARGETS:
        if spec is not None:
            raise ValueError(f"{name} has a specification of its own")
        return TARGETS[name]()
    if ":" not in name:
        raise ValueError(
            f"nothing is called {name!r}: there are {', '.join(TARGETS)}, and module:attribute for your own"
        )
    there = found_at(name)
    judge = None if spec is None else make_spec(spec)
    if workloads := _workloads_in(there):
        return named([each if judge is None else replace(each, spec=judge) for each in workloads], name)
    if callable(there):
        return [Workload(there, *_spec_and_operations(name, judge), name=name, target=name)]
    raise ValueError(
        f"{name} is no Workload, nor a list of them, nor something that makes an object, but a {type(there).__name__}"
    )


def alone(name: str, spec: str) -> list[Workload]:
    """The objects of that name, without operations to call: workloads as they are, and a factory with its own
    specification.

    Raises:
        ValueError: there is no such object.
    """
    there = found_at(name)
    if workloads := _workloads_in(there):
        return named(workloads, name)
    return [Workload(there, make_spec(spec), (), name=name, target=name)]


def _workloads_in(there: Any) -> list[Workload]:
    """The workloads that an object is, or holds; none if it is something else."""
    workloads = there if isinstance(there, list) else [there]
    return workloads if all(isinstance(each, Workload) for each in workloads) else []


def _spec_and_operations(name: str, spec: Spec | None) -> tuple[Spec, Sequence[tuple[object, ...]]]:
    if spec is None:
        raise ValueError(f"{name} makes an object: say what it must look like with --spec module:Class")
    operations = getattr(spec, "operations", ())
    if not operations:
        raise ValueError(
            f"nothing tells what to call on {name}: let the specification have `operations`, such as "
            '[("put", one_of("a", "b"), unique)], or name a Workload'
        )
    return spec, operations


def named(workloads: Sequence[Workload], target: str) -> list[Workload]:
    """The workloads, with the name by which they were found."""
    return [replace(each, target=target) for each in workloads]
