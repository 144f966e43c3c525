"""The command line: ``python -m subtrie demo | match | export``.

Exit status: 0 all well; 1 some lines of a file were bad, or the demo found a fault; 2 the command could not
be carried out; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from subtrie import SubscriptionTrie
from subtrie.cli.demo import run_files, run_workload
from subtrie.cli.lines import (
    STANDARD_INPUT,
    BadLines,
    match_lines,
    open_lines,
    standard_output,
    subscribe_lines,
    topic_lines,
)
from subtrie.cli.progress import progress_bars
from subtrie.cli.report import report
from subtrie.cli.spark import CannotStart, local_spark

OK, FAULTY, CANNOT, INTERRUPTED = 0, 1, 2, 130
FILTERS, MESSAGES, THREADS, SEED = 2_000, 1_000_000, 4, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    :param arguments: the words after the program's name; those of this process by default
    :returns: the exit status
    :raises SystemExit: the arguments make no sense, or help was asked for
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
        # Whoever read the output has gone: nothing may be written to it any more, not even on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULTY
    except (CannotStart, OSError) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return CANNOT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m subtrie", description="A concurrent topic matcher at work.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="demo | match | export")

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
    demo.add_argument("--messages", type=_at_least(1), metavar="N", help=f"messages to match (default {MESSAGES:,})")
    demo.add_argument("--filters", type=_at_least(1), metavar="N", help=f"subscriptions held (default {FILTERS:,})")
    demo.add_argument(
        "--seed", type=int, metavar="N", help=f"seed of the filters, topics and messages (default {SEED})"
    )
    _add_files(demo, required=False)
    demo.set_defaults(run=_demo)

    match = commands.add_parser(
        "match",
        help="match the topics of a file with the subscriptions of another",
        description="Writes a line topic<TAB>subscriber for each subscriber that wants a topic.",
    )
    _add_files(match, required=True)
    match.set_defaults(run=_match)

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
        help="one filter<TAB>subscriber a line; - for standard input",
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
    if options.command != "demo" or files == [None, None]:
        return
    if None in files:
        parser.error("--subscriptions and --topics belong together")
    if not options.messages is options.filters is options.seed is None:
        parser.error("--messages, --filters and --seed make a workload; --subscriptions and --topics bring one")


def _demo(options: argparse.Namespace) -> int:
    return _demo_files(options) if options.subscriptions is not None else _demo_workload(options)


def _demo_workload(options: argparse.Namespace) -> int:
    messages, filters, seed = options.messages or MESSAGES, options.filters or FILTERS, options.seed
    seed = SEED if seed is None else seed
    print(
        f"OpenAMQ matching test: {filters:,} filters, {messages:,} messages, seed {seed}; starting Spark",
        flush=True,
    )
    with local_spark() as spark:
        with progress_bars() as add_bar:
            outcome = run_workload(
                spark, add_bar, threads=options.threads, messages=messages, filters=filters, seed=seed
            )
        print(*report(outcome), sep="\n")
    return OK if outcome.is_good else FAULTY


def _demo_files(options: argparse.Namespace) -> int:
    bad, trie, out = BadLines(), SubscriptionTrie(), standard_output()
    with (
        open_lines(options.subscriptions, bad) as subscriptions,
        open_lines(options.topics, bad) as topics,
        local_spark() as spark,
    ):
        with progress_bars(shown=not sys.stdout.isatty()) as add_bar:
            subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
            outcome = run_files(spark, add_bar, threads=options.threads, trie=trie, topics=topics, out=out)
        out.flush()
        print(*report(outcome), sep="\n", file=sys.stderr)
    return OK if outcome.is_good and not bad.count else FAULTY


def _match(options: argparse.Namespace) -> int:
    bad, trie, out = BadLines(), SubscriptionTrie(), standard_output()
    with open_lines(options.subscriptions, bad) as subscriptions, open_lines(options.topics, bad) as topics:
        with progress_bars() as add_bar:
            subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
        for matches in match_lines(trie, topics, topic_lines(topics)):
            out.write(matches.encode())
            if options.topics == STANDARD_INPUT:
                out.flush()
    out.flush()
    return FAULTY if bad.count else OK


def _export(options: argparse.Namespace) -> int:
    import snapshot

    bad, trie = BadLines(), SubscriptionTrie()
    with open_lines(options.subscriptions, bad) as subscriptions, progress_bars() as add_bar:
        subscribe_lines(trie, subscriptions, add_bar("subscriptions read", None))
    try:
        snapshot.write(trie, options.output)
    except ImportError as missing:
        raise CannotStart(str(missing)) from missing
    print(f"{len(trie):,} subscriptions written to {options.output}", file=sys.stderr)
    return FAULTY if bad.count else OK
