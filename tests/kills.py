"""Which tests notice which fault: `python -m tests.kills faults 400`, then `covered`, then `matrix`.

A fault is one change of one function's text: a comparison turned, a condition that always holds or never does, a bound
off by one, a call left out. They are drawn with a seed, from every room, at most one in a function. A child of a process
that has imported everything puts the changed code in place of the right one and runs one test file. So a run takes as
long as its tests. Faults of the tries need the interpreted twin; those of other rooms run beside the compiled one, which
is quicker (`SIDES`). Each command does one side: CTRIE_TWIN says which, and the two can run at the same time.

`faults` writes them. `covered` notes which functions each test calls, and needs Python 3.12 or newer, whose monitoring
does not meet what tests trace. `matrix` runs each fault against the tests that call its function, a file at a time, the
quickest first, and appends a line for each. `ENOUGH` files that notice a fault end its row: what is asked is which files
alone catch something. `MOST` seconds end it, too. A folder at the end restricts `covered` to its tests. Each can be
stopped at any time and goes on where it was. `told` sums up. Seconds are those of a processor, so what else the machine
does changes no row.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import random
import resource
import signal
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

ROOMS = ("ctrie", "subtrie", "snapshot", "stress")
FOLDER = Path("build", "kills")
SELECTED = "not spark and not docs and not slow"  # what `make test` runs
# For each twin: the rooms whose faults it runs, and tests that say nothing of them.
SIDES = {
    "interpreted": (("ctrie", "subtrie"), ("tests/stress/",)),
    "compiled": (("snapshot", "stress"), ("tests/ctrie/", "tests/subtrie/", "tests/fields/")),
}
SEED, LONGEST, MOST, ENOUGH = 1, 10, 180, 2
"""The seed; seconds that one file may take for one fault (who hangs is noticed), and all of them; files that suffice."""
LOOKS = 1_000
"""How often a child is looked at, a hundredth of a second after another, for each second that it may take: ten times as
long, since who waits for ever takes no processor. On a busy machine looks are as late as the child."""
TURNED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def changes(function: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each change that can be made in a function: what it is, and what makes it in place."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
            yield f"line {node.lineno}: {ast.unparse(node)} turned", partial(_turn, node)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            for holds in (True, False):
                what = f"line {node.lineno}: {ast.unparse(node.test)} is {holds}"
                yield what, partial(setattr, node, "test", ast.Constant(holds))
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield f"line {node.lineno}: {node.value} + 1", partial(setattr, node, "value", node.value + 1)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            what = f"line {node.lineno}: without {ast.unparse(node)}"
            yield what, partial(setattr, node, "value", ast.Constant(None))


def _turn(node: ast.Compare) -> None:
    node.ops[0] = TURNED[type(node.ops[0])]()


def functions(path: Path) -> Iterator[tuple[int, ast.AST]]:
    """The functions of a file, by the line of their code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield _first(node), node


def draw(count: int) -> None:
    """Write so many faults, spread over the rooms as their functions are."""
    chance, places = random.Random(SEED), []
    for room in ROOMS:
        for path in sorted(Path(room).rglob("*.py")):
            places += [(str(path), line, len(list(changes(node)))) for line, node in functions(path)]
    chance.shuffle(places)
    drawn = [(path, line, chance.randrange(most)) for path, line, most in places if most][:count]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "faults.json").write_text(json.dumps(drawn))
    print(f"{len(drawn)} faults, seed {SEED}")


def changed_code(path: str, line: int, number: int) -> tuple[types.CodeType, types.CodeType, str]:
    """The code of a function, the same with a fault, and what that is."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    right = _code(compile(deepcopy(tree), path, "exec"), line)
    (node,) = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and _first(each) == line)
    what, change = list(changes(node))[number]
    change()
    return right, _code(compile(ast.fix_missing_locations(tree), path, "exec"), line), what


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _code(code: types.CodeType, line: int) -> types.CodeType:
    nested = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    for each in nested:
        if each.co_firstlineno == line and not each.co_name.startswith("<") and each.co_flags & 2:  # a function's
            return each
    for each in nested:
        try:
            return _code(each, line)
        except LookupError:
            continue
    raise LookupError(line)


def put_in_place(right: types.CodeType, wrong: types.CodeType) -> int:
    """Give the wrong code to all functions that have the right one; return how many there were."""
    key, found = (os.path.abspath(right.co_filename), right.co_firstlineno, right.co_name), 0
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType):
            code = each.__code__
            if (os.path.abspath(code.co_filename), code.co_firstlineno, code.co_name) == key:
                each.__code__ = wrong.replace(co_filename=code.co_filename, co_freevars=code.co_freevars)
                found += 1
    return found


def in_child(work: Callable[[], int], seconds: float) -> tuple[int | None, float]:
    """The exit status of a child that does some work, None if a signal ended it, and the seconds that it took.

    A process of it that takes longer is killed, and so are all of them after as many looks as are ten times as long.
    """
    if (child := os.fork()) == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1,) * 2)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            os._exit(work())
        except BaseException:  # noqa: BLE001  (a child ends here, whatever comes)
            os._exit(70)
    looks, ended = 0, 0
    while not ended:
        time.sleep(0.01)
        ended, status, used = os.wait4(child, os.WNOHANG)
        looks += 1
        if ended or looks > LOOKS * seconds:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None, used.ru_utime + used.ru_stime


def tested(file: str, plugin: object) -> int:
    """Run the tests of a file, up to the first that fails."""
    import pytest

    known = "ignore::pytest.PytestAssertRewriteWarning"  # the rooms were imported before
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", known, "-m", SELECTED]
    return int(pytest.main([*options, file], plugins=[plugin]))


class Only:
    """Of the tests of a file, only these."""

    def __init__(self, tests: list[str]) -> None:
        self.tests = set(tests)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [each for each in items if each.nodeid in self.tests]


class Each:
    """Notes of each test what it calls, and the seconds that it takes. The first one has what collecting calls, too."""

    def __init__(self, seen: set[tuple[str, int]]) -> None:
        self.seen, self.tests, self.began = seen, dict[str, Any](), sum(os.times()[:4])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        now = sum(os.times()[:4])
        self.tests[nodeid] = (now - self.began, sorted(self.seen))
        self.seen.clear()
        vars(sys)["monitoring"].restart_events()
        self.began = now


def files_of_tests() -> list[str]:
    """All files of tests."""
    return sorted(str(path) for path in Path("tests").rglob("test_*.py"))


def import_all() -> None:
    """Import the rooms here, so that no child has to."""
    import pytest  # noqa: F401

    for room in ROOMS:
        for path in sorted(Path(room).rglob("*.py")):
            name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            if path.stem not in ("__main__", "_portable"):
                try:
                    importlib.import_module(name)
                except ImportError as absent:
                    print(f"left out: {name}: {absent}")


def _side(folder: str) -> tuple[str, tuple[str, ...], list[str]]:
    """The twin, the rooms whose faults it runs, and the test files."""
    twin = os.environ["CTRIE_TWIN"]
    rooms, without = SIDES[twin]
    return twin, rooms, [file for file in files_of_tests() if file.startswith(folder) and not file.startswith(without)]


def covered(folder: str = "") -> None:
    """Note for each test file which functions it calls, and how many seconds it takes."""
    import_all()
    twin, rooms, files = _side(folder)
    (FOLDER / f"covered-{twin}").mkdir(parents=True, exist_ok=True)
    for file in files:
        note = FOLDER / f"covered-{twin}" / f"{file.replace('/', '.')}.json"
        if note.exists() and note.stat().st_mtime > Path(file).stat().st_mtime:
            continue
        status, took = in_child(partial(_noted, file, note, tuple(f"{room}/" for room in rooms)), 30 * LONGEST)
        print(f"{file}: {status}, {took:.0f} s", flush=True)


def _noted(file: str, note: Path, rooms: tuple[str, ...]) -> int:
    seen: set[tuple[str, int]] = set()
    monitoring, here = vars(sys)["monitoring"], str(Path.cwd()) + "/"  # since Python 3.12
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "kills")

    def look(code: types.CodeType, _: int) -> Any:
        path = code.co_filename.removeprefix(here)
        if path.startswith(rooms):
            seen.add((path, code.co_firstlineno))
        return monitoring.DISABLE

    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.PY_START, look)
    monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.PY_START)
    each = Each(seen)
    status = tested(file, each)
    monitoring.set_events(monitoring.COVERAGE_ID, 0)
    note.write_text(json.dumps({"status": status, "tests": each.tests}))
    return status


def _candidates(twin: str, files: list[str]) -> dict[tuple[str, int], list[tuple[float, str, list[str]]]]:
    """Of each function the test files that call it: the seconds of the tests that do, and these; the quickest first."""
    names = {f"{file.replace('/', '.')}.json": file for file in files}
    calling: dict[tuple[str, int], list[tuple[float, str, list[str]]]] = defaultdict(list)
    for note in sorted((FOLDER / f"covered-{twin}").glob("*.json")):
        told = json.loads(note.read_text())
        if told["status"] not in (0, 1) or note.name not in names:  # some fail on another interpreter
            continue
        its: dict[tuple[str, int], list[str]] = defaultdict(list)
        for test, (_, calls) in told["tests"].items():
            for path, line in calls:
                its[path, line].append(test)
        for function, tests in its.items():
            calling[function].append((sum(told["tests"][each][0] for each in tests), names[note.name], tests))
    return {function: sorted(found) for function, found in calling.items()}


def _rows(out: Path) -> list[Any]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def matrix(faults: list[tuple[str, int, int]], out: Path) -> None:
    """Run each fault against the files that call its function, the quickest first."""
    import_all()
    twin, rooms, files = _side("")
    candidates = _candidates(twin, files)
    done = {tuple(row["fault"]) for row in _rows(out)}
    for fault in faults:
        if fault in done or not fault[0].startswith(rooms):
            continue
        right, wrong, what = changed_code(*fault)
        results: dict[str, str] = {}
        spent, killers = 0.0, 0
        for seconds, file, tests in candidates.get(fault[:2], []):
            if killers == ENOUGH or spent > MOST:
                results[file] = "not run"
                continue
            status, took = in_child(partial(_run, right, wrong, file, tests), LONGEST + 4 * seconds)
            spent += took
            results[file] = {0: "passes", 5: "passes", 70: "not placed", None: "hangs"}.get(status, "fails")
            killers += results[file] in ("fails", "hangs")
        row = {"fault": fault, "what": what, "seconds": round(spent, 1), "results": results}
        with out.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
        print(f"{fault[0]} {what}: {killers} of {len(results)}, {row['seconds']} s", flush=True)


def _run(right: types.CodeType, wrong: types.CodeType, file: str, tests: list[str]) -> int:
    return tested(file, Only(tests)) if put_in_place(right, wrong) else 70


def told() -> None:
    """Sum up: how many faults are noticed, by how many files, which by one alone, which by none."""
    rows = [row for twin in SIDES for row in _rows(FOLDER / f"matrix-{twin}.jsonl")]
    alone: Counter[str] = Counter()
    for row in rows:
        killers = [file for file, how in row["results"].items() if how in ("fails", "hangs")]
        if len(killers) == 1 and "not run" not in row["results"].values():
            alone[killers[0]] += 1
            print(f"{killers[0]} alone: {row['fault'][0]} {row['what']}")
        elif not killers:
            ran = sum(how == "passes" for how in row["results"].values())
            print(f"nobody of {ran} that ran: {row['fault'][0]} {row['what']}")
    print(f"{len(rows)} faults; " + ", ".join(f"{file} {count}" for file, count in alone.most_common()))


def main() -> int:
    """Do one of the commands, on the side that CTRIE_TWIN names."""
    if sys.argv[1:2] not in (["faults"], ["told"]) and os.environ.get("CTRIE_TWIN") not in SIDES:
        sys.exit(f"{__doc__}\nSet CTRIE_TWIN to one of: {', '.join(SIDES)}")
    match sys.argv[1:]:
        case ["faults", count]:
            draw(int(count))
        case ["covered", *folder]:
            covered(*folder)
        case ["matrix"]:
            matrix(
                [*map(tuple, json.loads((FOLDER / "faults.json").read_text()))],
                FOLDER / f"matrix-{os.environ['CTRIE_TWIN']}.jsonl",
            )
        case ["told"]:
            told()
        case _:
            sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
