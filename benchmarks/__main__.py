"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.status import Status

from benchmarks import results, runner, tables
from benchmarks.answers import write_answers
from benchmarks.machine import busy, describe, gil
from benchmarks.model import Benchmark, check
from benchmarks.readme import write_figures
from benchmarks.report import write_list, write_pages
from benchmarks.suite import all_benchmarks

FOLDER, PAGES = Path("docs/benchmarks"), Path("build/benchmarks")


def main(arguments: list[str] | None = None) -> int:
    """Run benchmarks and write their results."""
    benchmarks = all_benchmarks()
    options = _options(benchmarks, arguments)
    console = Console()
    if options.pages:
        _write_answers(options.output)
        write_pages(options.output, PAGES)
        console.print(f"A page for each result is in {PAGES}.")
        return 0
    if options.list:
        for benchmark in benchmarks.values():
            console.print(f"[bold]{benchmark.name:12}[/] {benchmark.title}", highlight=False, soft_wrap=True)
        return 0
    chosen = [benchmarks[name] for name in options.names] or list(benchmarks.values())
    if (remark := busy(describe())) and not (options.quick or options.busy):
        console.print(f"{remark} Wait until it is idle, or say --busy: then the pages say so, too.")
        return 2
    if options.quick:
        with TemporaryDirectory() as folder:
            _run_all(chosen, Path(folder), console, quick=True)
    else:
        _run_all(chosen, options.output, console, quick=False)
        _write_answers(options.output)
        console.print(f"The results are in {options.output}. Pages with pictures: python -m benchmarks --pages")
    return 0


def _options(benchmarks: dict[str, Benchmark], arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="which ones; all of them if none is named")
    parser.add_argument("--list", action="store_true", help="say which there are, and stop")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing kept: only see that all works")
    parser.add_argument("--busy", action="store_true", help="measure although the machine has other work, and say so")
    parser.add_argument(
        "--pages",
        action="store_true",
        help="measure nothing; make answers, pages and pictures",
    )
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the results (%(default)s)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in benchmarks]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are: {', '.join(benchmarks)}")
    return options


def _write_answers(folder: Path) -> None:
    write_list(folder)
    if folder == FOLDER:
        runs = results.load_all(folder)
        write_answers(runs, folder)
        write_figures(runs, folder)


def _run_all(chosen: list[Benchmark], folder: Path, console: Console, quick: bool) -> None:
    for benchmark in chosen:
        machine, began = describe(), time.monotonic()
        with console.status(benchmark.name) as status:
            measured = runner.run(benchmark, quick, partial(_say, status, benchmark.name))
        check(gil() == machine["gil"], "the GIL has been switched on meanwhile")
        console.print(f"\n[bold]{benchmark.title}[/]", highlight=False, soft_wrap=True)
        if not measured:
            console.print("Left out: what it measures is not installed. Earlier results are kept.")
            continue
        run = results.finished(benchmark, machine, measured, time.monotonic() - began)
        results.save(run, folder)
        console.print(tables.table(run), highlight=False, markup=False, soft_wrap=True)


def _say(status: Status, name: str, doing: str) -> None:
    status.update(f"{name}: {doing}")


if __name__ == "__main__":
    sys.exit(main())
