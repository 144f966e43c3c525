"""The command line: ``python -m subtrie match | export``.

Exit status: 0 success; 1 some lines of a file were bad; 2 the command failed; 130 interrupted. If the reader of the
output goes away, the command ends quietly with status 0.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from subtrie import AMQP, MQTT, NATS, SubscriptionTrie, TopicError, __version__
from subtrie.cli.lines import (
    STANDARD_INPUT,
    BadLines,
    answers,
    as_columns,
    as_json,
    open_lines,
    remark,
    standard_output,
    subscribe_lines,
    topic_lines,
)
from subtrie.cli.progress import progress_bars

OK, FAULTY, CANNOT, INTERRUPTED = 0, 1, 2, 130
DIALECTS = {dialect.name.lower(): dialect for dialect in (AMQP, MQTT, NATS)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after the program's name; by default those of this process.

    Returns:
        The exit status.

    Raises:
        SystemExit: the arguments are invalid, or help was requested.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    files_of(parser, options)
    return ended(f"{parser.prog} {options.command}", options.run, options)


class CannotStart(Exception):
    """A requirement of the command is missing; the message says what to install."""


def ended(command: str, run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command to its end, however it ends; returns the exit status."""
    try:
        return int(run(options))
    except KeyboardInterrupt:
        # If it came within an `exec` of a text, as `namedtuple` and `dataclass` do at an import, the interpreter means
        # to end by the signal, whatever status it is given. The next `exec` makes it forget that.
        exec("")
        remark("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone: nothing may be written to it any more, not even on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (CannotStart, OSError, TopicError) as error:
        remark(f"{command}: {error}")
        return CANNOT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m subtrie", description="A concurrent topic matcher at work.")
    parser.add_argument("--version", action="version", version=f"subtrie {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="match | export")

    match = commands.add_parser(
        "match",
        help="match the topics of a file with the subscriptions of another",
        description="Writes a line topic<TAB>subscriber for each subscriber that wants a topic.",
    )
    add_files(match, required=True)
    match.add_argument("--json", action="store_true", help="one JSON object for each subscription that a topic reaches")
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


def add_files(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the arguments that name files of subscriptions and topics."""
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


def files_of(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[str | None]:
    """The files of subscriptions and of topics, not both of which can be standard input."""
    files = [getattr(options, name, None) for name in ("subscriptions", "topics")]
    if files == [STANDARD_INPUT, STANDARD_INPUT]:
        parser.error("--subscriptions and --topics cannot both be -: standard input can be read only once")
    return files


def _match(options: argparse.Namespace) -> int:
    bad, trie, out = BadLines(), SubscriptionTrie(DIALECTS[options.dialect]), standard_output()
    with open_lines(options.subscriptions, bad) as subscriptions, open_lines(options.topics, bad) as topics:
        with progress_bars() as add_bar:
            bar = add_bar("subscriptions read", None)
            subscribe_lines(trie, subscriptions, bar, for_columns=not options.json)
        for matches in answers(topics, topic_lines(topics), as_json if options.json else as_columns, trie):
            out.write(matches.encode(errors="backslashreplace"))  # of lone surrogates, as JSON escapes them
            if options.topics == STANDARD_INPUT:
                out.flush()
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
    remark(f"{len(trie):,} subscriptions written to {options.output}")
    return FAULTY if bad.count else OK
