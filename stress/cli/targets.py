"""What `run` and `explore` test: objects in users' code, or workloads that are known by name."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from stress.cli.output import aside
from stress.formats.read import make_spec
from stress.recorder.workload import Workload, one_of, unique
from stress.reference import found_at
from stress.verdicts import status_of

Known = Mapping[str, Callable[[], list[Workload]]]
"""Workloads by name."""
NONE: Final[Known] = MappingProxyType({})


def add_targets(parser: argparse.ArgumentParser, names: Collection[str], own: str) -> None:
    """Add the arguments that say what to test: `names` are known, and `own` is what a reference may lead to."""
    choice = f"{', '.join(names)} (default: all), or " if names else ""
    parser.add_argument(
        "targets", nargs="*" if names else "+", default=list(names), metavar="TARGET",
        help=f"{choice}module:attribute for your own: {own}",
    )  # fmt: skip
    parser.add_argument(
        "--spec", metavar="NAME",
        help="the specification of the objects: a name, or module:Class (default: an answer is right if some order of "
             "the calls, made one after another on a fresh object, gives it)",
    )  # fmt: skip
    parser.add_argument(
        "--call", action="append", metavar="CALL",
        help="a call that threads may make, such as 'increment()' or 'put(one_of(1, 2), unique)'; may be repeated",
    )  # fmt: skip


def over(arguments: argparse.Namespace, test: Callable[[str, list[Workload]], int], known: Known) -> int:
    """Test one target after another, up to the first that is wrong; return the exit status."""
    try:
        operations = [_operation(text) for text in arguments.call or ()]
        found = [(target, _found(target, arguments.spec, operations, known)) for target in arguments.targets]
    except ValueError as error:
        aside(error)
        return 2
    statuses: list[int] = []
    for target, workloads in found:
        statuses.append(test(target, workloads))
        if statuses[-1] == 1:
            break
    return status_of(statuses)


def _found(name: str, spec: str | None, operations: Sequence[tuple[Any, ...]], known: Known) -> list[Workload]:
    """The workloads of that name.

    Raises:
        ValueError: there are none; the message says what was looked for.
    """
    if name in known:
        if spec is not None or operations:
            raise ValueError(f"{name} has a specification and calls of its own")
        return known[name]()
    if ":" not in name:
        names = "".join(f"{each}, " for each in known)
        there_are = f"there are {names}and" if names else "there is"
        raise ValueError(f"nothing is called {name!r}: {there_are} module:attribute for your own")
    there = found_at(name)
    given: dict[str, Any] = {} if spec is None else {"spec": make_spec(spec)}
    if workloads := _workloads_in(there):
        given.update({"operations": operations, "roles": ()} if operations else {})
        return [replace(each, target=name, **given) for each in workloads]
    if not callable(there):
        what = f"nor something that makes an object, but a {type(there).__name__}"
        raise ValueError(f"{name} is no Workload, nor a list of them, {what}")
    judge = given.get("spec")
    operations = operations or getattr(judge, "operations", ())
    if not operations:
        raise ValueError(
            f"nothing tells what to call on {name}: say it by --call 'put(one_of(1, 2), unique)', let the "
            'specification have `operations`, such as [("put", one_of(1, 2), unique)], or name a Workload'
        )
    return [Workload(there, judge, operations, name=name, target=name)]


def alone(name: str, spec: str) -> list[Workload]:
    """The objects of that name, without operations to call: workloads as they are, and a factory with its own
    specification.

    Raises:
        ValueError: there is no such object.
    """
    there = found_at(name)
    if workloads := _workloads_in(there):
        return [replace(each, target=name) for each in workloads]
    return [Workload(there, make_spec(spec) if spec else None, (), name=name, target=name)]


def _workloads_in(there: Any) -> list[Workload]:
    """The workloads that an object is, or holds; none if it is something else."""
    workloads = there if isinstance(there, list) else [there]
    return workloads if all(isinstance(each, Workload) for each in workloads) else []


def _operation(text: str) -> tuple[Any, ...]:
    """The operation that the text of a call stands for.

    >>> _operation("put('a', unique)")[:2]
    ('put', 'a')
    """
    try:
        match ast.parse(text, mode="eval").body:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return (name, *map(_argument, args))
    except (SyntaxError, ValueError):
        pass
    raise ValueError(f"{text!r} is no call with plain arguments, such as increment() or put(one_of(1, 2), unique)")


def _argument(node: ast.expr) -> Any:
    match node:
        case ast.Name(id="unique"):
            return unique
        case ast.Call(func=ast.Name(id="one_of"), args=[_, *_] as values, keywords=[]):
            return one_of(*map(ast.literal_eval, values))
        case _:
            return ast.literal_eval(node)
