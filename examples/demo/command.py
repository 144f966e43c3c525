"""The command: ``python -m examples.demo``, in a clone. See `examples.demo.parts` for what it does.

Exit status: 0 success; 1 a fault was found, or some lines of a file were bad; 2 the command failed; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from examples.demo.page import require_place, write_page
from examples.demo.parts import Outcome, run_files, run_workload
from examples.demo.report import report
from examples.demo.spark import local_spark
from examples.demo.view import terminal_view, waiting
from subtrie import SubscriptionTrie
from subtrie.cli import DIALECTS, FAULTY, OK, add_files, ended, files_of
from subtrie.cli.lines import BadLines, open_lines, standard_output, subscribe_lines
from subtrie.cli.progress import progress_bars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILTERS, MESSAGES, THREADS, SEED = 2_000, 1_000_000, 4, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration.

    Args:
        arguments: the words after the program's name; by default those of this process.

    Returns:
        The exit status.

    Raises:
        SystemExit: the arguments are invalid, or help was requested.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    _check(parser, options)
    return ended(parser.prog, _demo, options)


def at_least(least: int) -> Callable[[str], int]:
    """The `type` of an argument that is a number, and not below `least`."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {value}")
        return value

    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description="Threads subscribe and unsubscribe while others match messages. Halfway a snapshot is "
        "taken and exported to a local Spark session, which checks that it shows one instant.",
    )
    parser.add_argument(
        "--threads",
        type=at_least(2),
        default=THREADS,
        metavar="N",
        help=f"how many threads; half of them write, the rest match (default {THREADS})",
    )
    parser.add_argument(
        "--messages",
        type=at_least(1),
        metavar="N",
        help=f"messages to match (default {MESSAGES:,}, and on until Spark has judged the cut)",
    )
    parser.add_argument("--filters", type=at_least(1), metavar="N", help=f"subscriptions held (default {FILTERS:,})")
    parser.add_argument(
        "--seed", type=int, metavar="N", help=f"seed of the filters, topics and messages (default {SEED})"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots when all is done")
    add_files(parser, required=False)
    return parser


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    files = files_of(parser, options)
    if files == [None, None] and options.dialect != "amqp":
        parser.error("the workload of the demo is AMQP's; --dialect goes with --subscriptions and --topics")
    if files == [None, None]:
        return
    if None in files:
        parser.error("--subscriptions and --topics belong together")
    if not options.messages is options.filters is options.seed is None:
        parser.error("--messages, --filters and --seed make a workload; --subscriptions and --topics bring one")


def _demo(options: argparse.Namespace) -> int:
    if options.html is not None:
        require_place(options.html)
    return _demo_files(options) if options.subscriptions is not None else _demo_workload(options)


def _demo_workload(options: argparse.Namespace) -> int:
    messages, filters, seed = options.messages or MESSAGES, options.filters or FILTERS, options.seed
    seed = SEED if seed is None else seed
    print(
        f"OpenAMQ matching test: {filters:,} filters, {messages:,} messages, seed {seed}; starting Spark",
        flush=True,
    )
    with _spark_shown() as spark:
        outcome = run_workload(
            spark,
            terminal_view,
            threads=options.threads,
            messages=messages,
            filters=filters,
            seed=seed,
            until_judged=options.messages is None,
        )
        print(*report(outcome), sep="\n")
    about = f"The OpenAMQ matching test: {filters:,} filters, {messages:,} messages, seed {seed}."
    _write_page(options, outcome, about)
    return OK if outcome.is_good else FAULTY


def _demo_files(options: argparse.Namespace) -> int:
    bad, trie, out = BadLines(), SubscriptionTrie(DIALECTS[options.dialect]), standard_output()
    with (
        open_lines(options.subscriptions, bad) as subscriptions,
        open_lines(options.topics, bad) as topics,
        local_spark() as spark,
    ):
        shown = not sys.stdout.isatty()
        with progress_bars(shown=shown) as add_bar:
            subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
        show = partial(terminal_view, shown=shown)
        outcome = run_files(spark, show, threads=options.threads, trie=trie, topics=topics, out=out)
        out.flush()
        print(*report(outcome), sep="\n", file=sys.stderr)
    _write_page(options, outcome, f"The topics of {options.topics}, with the subscriptions of {options.subscriptions}.")
    return OK if outcome.is_good and not bad.count else FAULTY


@contextmanager
def _spark_shown() -> Iterator[SparkSession]:
    """A Spark session; on a terminal, a message is shown until it has started."""
    with ExitStack() as session:
        with waiting("starting Spark"):
            spark = session.enter_context(local_spark())
        yield spark


def _write_page(options: argparse.Namespace, outcome: Outcome, about: str) -> None:
    if options.html is not None:
        write_page(options.html, outcome, about)
        print(f"\nPlots of it are in {options.html}", file=sys.stderr if options.subscriptions else sys.stdout)
