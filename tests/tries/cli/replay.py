"""`python -m tests.tries replay TOKEN`: one schedule of a trie again."""

from __future__ import annotations

import argparse
from functools import partial

from stress.cli.output import aside, say, written
from stress.explorer.token import TokenError
from stress.explorer.trace import Drift, trace
from stress.reports import html, text
from tests.tries.compiled import NotBuilt
from tests.tries.mutants.catalogue import find
from tests.tries.source_copy import StaleChange
from tests.tries.twins import decode, experiment_on, load_twin, report_on_trie


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `replay`."""
    parser.add_argument("what", metavar="TOKEN", help="a token of `explore`")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about it")


def main(arguments: argparse.Namespace) -> int:
    """Execute a token's execution again. Exit status 1 if it is (still) wrong, 0 if not, 2 if it cannot be executed."""
    try:
        token = decode(arguments.what)
        twin = load_twin(token.compiled, changes=find(token.mutant).changes if token.mutant else ())
        _, finding = trace(experiment_on(twin, token.scenario), token.order)
    except (TokenError, StaleChange, Drift, NotBuilt, LookupError) as error:
        aside(f"{arguments.what[:40]}: {error}" if isinstance(error, TokenError) else error)
        return 2
    if finding is None:
        say(f"Nothing is wrong (any more) with {token.scenario}, in this order of steps.")
        return 0
    report = report_on_trie(twin, finding, token.mutant)
    if arguments.report:
        written(partial(html.save, report), arguments.report)
    say(text.render(report).rstrip(), 1)
    return 1
