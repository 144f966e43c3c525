"""The command line: ``python -m subtrie demo | match | tree | export``.

Exit status: 0 success; 1 some lines of a file were bad, or the demo found a fault; 2 the command failed; 130
interrupted. `match FILTER` has grep's: 0 something was found, 1 nothing, 2 trouble. If the reader of the output goes
away, the command ends quietly with status 0.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from subtrie import AMQP, MQTT, NATS, SubscriptionTrie, TopicError, __version__
from subtrie.cli.demo import Outcome, run_files, run_workload
from subtrie.cli.grep import Shown, grep
from subtrie.cli.lines import (
    STANDARD_INPUT,
    BadLines,
    match_json_lines,
    match_lines,
    open_lines,
    standard_output,
    subscribe_lines,
    topic_lines,
)
from subtrie.cli.page import require_place, write_page
from subtrie.cli.progress import progress_bars
from subtrie.cli.report import report
from subtrie.cli.spark import CannotStart, local_spark
from subtrie.cli.tree import tree_lines
from subtrie.cli.view import terminal_view, waiting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OK, FAULTY, CANNOT, INTERRUPTED = 0, 1, 2, 130
DIALECTS = {dialect.name.lower(): dialect for dialect in (AMQP, MQTT, NATS)}
FILTERS, MESSAGES, THREADS, SEED = 2_000, 1_000_000, 4, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    :param arguments: the words after the program's name; by default those of this process
    :returns: the exit status
    :raises SystemExit: the arguments are invalid, or help was requested
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    _check(parser, options)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone: nothing may be written to it any more, not even on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (CannotStart, OSError, TopicError) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return CANNOT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m subtrie", description="A concurrent topic matcher at work.")
    parser.add_argument("--version", action="version", version=f"subtrie {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="demo | match | export | tree")

    demo = commands.add_parser(
        "demo",
        help="match messages while others subscribe, and export one instant to Spark",
        description="Threads subscribe and unsubscribe while others match messages. Halfway a snapshot is "
        "taken and exported to a local Spark session, which checks that it shows one instant.",
    )
    demo.add_argument(
        "--threads",
        type=_at_least(2),
        default=THREADS,
        metavar="N",
        help=f"how many threads; half of them write, the rest match (default {THREADS})",
    )
    demo.add_argument(
        "--messages",
        type=_at_least(1),
        metavar="N",
        help=f"messages to match (default {MESSAGES:,}, and on until Spark has judged the cut)",
    )
    demo.add_argument("--filters", type=_at_least(1), metavar="N", help=f"subscriptions held (default {FILTERS:,})")
    demo.add_argument(
        "--seed", type=int, metavar="N", help=f"seed of the filters, topics and messages (default {SEED})"
    )
    demo.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots when all is done")
    _add_files(demo, required=False)
    demo.set_defaults(run=_demo)

    match = commands.add_parser(
        "match",
        help="match the topics of a file with the subscriptions of another, or with a filter, as grep does",
        description="With --subscriptions and --topics: writes a line topic<TAB>subscriber for each subscriber that "
        "wants a topic. With a FILTER: writes the topics of the files that it matches.",
    )
    _add_files(match, required=False)
    match.add_argument("--json", action="store_true", help="one JSON object for each subscription that a topic reaches")
    match.add_argument("filter", nargs="?", metavar="FILTER", help="find the topics that this filter matches")
    match.add_argument("paths", nargs="*", metavar="FILE", help="one topic a line; standard input if there is none")
    match.add_argument("-v", "--invert-match", action="store_true", help="find the topics that it does not match")
    match.add_argument("-c", "--count", action="store_true", help="write how many were found in each file")
    match.add_argument("-n", "--line-number", action="store_true", help="write the number of each line before it")
    match.add_argument("-q", "--quiet", action="store_true", help="write nothing: the exit status says it")
    match.set_defaults(run=_match)

    tree = commands.add_parser(
        "tree",
        help="draw the subscriptions of a file as a tree of words",
        description="Draws a line for each word, with the subscribers of the filters that end there.",
    )
    _add_subscriptions(tree, required=True)
    tree.add_argument("--depth", type=_at_least(1), metavar="N", help="draw at most N levels, and count the rest")
    tree.set_defaults(run=_tree)

    export = commands.add_parser(
        "export",
        help="write the subscriptions of a file as Parquet",
        description="Writes a Parquet file for Spark, and for snapshot.load.",
    )
    _add_subscriptions(export, required=True)
    export.add_argument("--output", required=True, metavar="PATH", help="the Parquet file")
    export.set_defaults(run=_export)
    return parser


def _add_files(parser: argparse.ArgumentParser, *, required: bool) -> None:
    _add_subscriptions(parser, required=required)
    parser.add_argument("--topics", required=required, metavar="FILE", help="one topic a line; - for standard input")


def _add_subscriptions(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--subscriptions",
        required=required,
        metavar="FILE",
        help="one filter<TAB>subscriber a line, with a JSON object of options after another tab if there are any, or "
        "one JSON object a line; - for standard input",
    )
    parser.add_argument(
        "--dialect", choices=sorted(DIALECTS), default="amqp", help="the rules of filters and topics (default amqp)"
    )


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {value}")
        return value

    return number


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    files = [getattr(options, name, None) for name in ("subscriptions", "topics")]
    if files == [STANDARD_INPUT, STANDARD_INPUT]:
        parser.error("--subscriptions and --topics cannot both be -: standard input can be read only once")
    if options.command == "match":
        _check_match(parser, options, files)
        return
    if options.command == "demo" and files == [None, None] and options.dialect != "amqp":
        parser.error("the workload of the demo is AMQP's; --dialect goes with --subscriptions and --topics")
    if options.command != "demo" or files == [None, None]:
        return
    if None in files:
        parser.error("--subscriptions and --topics belong together")
    if not options.messages is options.filters is options.seed is None:
        parser.error("--messages, --filters and --seed make a workload; --subscriptions and --topics bring one")


def _check_match(parser: argparse.ArgumentParser, options: argparse.Namespace, files: list[str | None]) -> None:
    as_grep = options.invert_match or options.count or options.line_number or options.quiet
    if options.filter is None:
        if files == [None, None]:
            parser.error("match takes a FILTER and files of topics, or --subscriptions and --topics")
        missing = [name for name, file in zip(("--subscriptions", "--topics"), files, strict=True) if file is None]
        if missing:
            parser.error(f"the following arguments are required: {', '.join(missing)}")
        if as_grep:
            parser.error("-v, -c, -n and -q go with a FILTER")
    elif files != [None, None] or options.json:
        parser.error("--subscriptions, --topics and --json do not go with a FILTER")


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


def _match(options: argparse.Namespace) -> int:
    if options.filter is not None:
        shown = Shown(options.invert_match, options.count, options.line_number, options.quiet)
        return grep(DIALECTS[options.dialect], options.filter, options.paths, shown, standard_output())
    bad, trie, out = BadLines(), SubscriptionTrie(DIALECTS[options.dialect]), standard_output()
    with open_lines(options.subscriptions, bad) as subscriptions, open_lines(options.topics, bad) as topics:
        with progress_bars() as add_bar:
            subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
        answers = match_json_lines if options.json else match_lines
        for matches in answers(trie, topics, topic_lines(topics)):
            out.write(matches.encode())
            if options.topics == STANDARD_INPUT:
                out.flush()
    out.flush()
    return FAULTY if bad.count else OK


def _tree(options: argparse.Namespace) -> int:
    bad, trie, out = BadLines(), SubscriptionTrie(DIALECTS[options.dialect]), standard_output()
    with open_lines(options.subscriptions, bad) as subscriptions, progress_bars() as add_bar:
        subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
    for line in tree_lines(trie, options.depth):
        out.write(f"{line}\n".encode())
    out.flush()
    return FAULTY if bad.count else OK


def _export(options: argparse.Namespace) -> int:
    from subtrie import snapshot

    bad, trie = BadLines(), SubscriptionTrie(DIALECTS[options.dialect])
    with open_lines(options.subscriptions, bad) as subscriptions, progress_bars() as add_bar:
        subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
    try:
        snapshot.write(trie, options.output)
    except ImportError as missing:
        raise CannotStart(str(missing)) from missing
    print(f"{len(trie):,} subscriptions written to {options.output}", file=sys.stderr)
    return FAULTY if bad.count else OK
