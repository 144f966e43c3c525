"""The tries under the explorer: each layer catches its mutants and accuses no right code, a finding is small, explained and
comes again by its token, and the matrix has what it should."""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
from collections import Counter
from functools import partial
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest

import ctrie
from stress.explorer.experiment import Finding
from stress.explorer.machine import Drift
from stress.explorer.scenario import Scenario
from stress.explorer.strategies import Switch, Switches, bounded, minimise, reduced, sampled, stopped_for_ever
from stress.explorer.token import TokenError
from stress.explorer.trace import trace
from stress.processes import Tally, WorkFailed
from stress.reports import text as report_text
from stress.verdicts import Verdict
from tests.terminal import drawn_by
from tests.tries.campaign import MATRIX, Plan, explore_matrix
from tests.tries.cli import main
from tests.tries.experiment import TrieExperiment
from tests.tries.mutants.catalogue import MUTANTS, find
from tests.tries.mutants.mutant import Mutant
from tests.tries.mutants.suite import CONTROLS, try_mutant
from tests.tries.scenarios import CORE, OPERATIONS, STARTS, VARIANTS, pairs, random_scenario
from tests.tries.source_copy import StaleChange
from tests.tries.trie_copy import TrieCopy, load_copy
from tests.tries.twins import Token, decode, encode, report_on_trie

pytestmark = pytest.mark.once  # mutants are of the interpreted twin and the C text, whatever twin the tests run
slow = pytest.mark.slow("tries all mutants, or searches at random; `make stress` does the same for longer")

SEED = int(os.environ.get("STRESS_SEED", "1"))
ATTEMPTS = 20_000  # the most executions of a mutant; nearly all take a few hundred
LAYERS = {"checker": {"verdicts"}, "reclaimer": {"threads"}}
OF_TRIES = {"model", "explore"}


@slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.of}: {mutant.name}")
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    trial = try_mutant(mutant, SEED, ATTEMPTS)
    if trial.untried:
        pytest.skip(trial.untried)
    assert not trial.stale, trial.stale
    assert trial.layer in LAYERS.get(mutant.of, OF_TRIES), f"survived {trial.attempts} attempts, STRESS_SEED={SEED}"
    assert trial.seen
    if trial.replay:
        token = decode(trial.replay.split()[-1])
        _, finding = trace(TrieExperiment(load_copy(mutant.changes), token.scenario), token.order)
        assert finding is not None, "its token does not bring it back"


@slow
@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.of)
def test_the_unmutated_code_is_not_accused(control: Mutant) -> None:
    trial = try_mutant(control, SEED, ATTEMPTS)
    assert not trial.layer, f"{trial.seen}: {trial.replay}, STRESS_SEED={SEED}"


def test_there_are_enough_and_each_has_a_name() -> None:
    kinds = Counter(mutant.of for mutant in MUTANTS)
    assert kinds["map"] + kinds["subscriptions"] >= 25
    assert kinds["checker"] >= 5
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    with pytest.raises(LookupError, match="no mutant is called"):
        find("no such mutant")


def test_one_that_cannot_even_make_its_start_is_caught() -> None:
    where = "    if lev >= HASH_BITS:\n        return new_lnode"
    unable = Mutant("unable", "map", (("ctrie._nodes", where, f"    1 / 0\n{where}"),), starts=("about to tomb",))
    trial = try_mutant(unable, SEED, ATTEMPTS)
    assert (trial.layer, trial.attempts) == ("model", 0)
    assert trial.seen == "the start cannot be made (map, about to tomb): ZeroDivisionError: division by zero"


def test_a_text_that_no_longer_occurs_is_an_error() -> None:
    stale = Mutant("stale", "map", (("ctrie._nodes", "no such text", ""),))
    with pytest.raises(StaleChange, match=r"'no such text' occurs 0 times in ctrie\._nodes"):
        load_copy(stale.changes)
    assert "no such text" in try_mutant(stale, SEED, 1).stale


# ----------------------------------------------------------------------------------------------------- the command line

NO_PASS = "a match has no second pass"


def of_checker(name: str, text: str, instead: str) -> tuple[Mutant]:
    return (Mutant(name, "checker", (("stress.checker.search", text, instead),)),)


@pytest.mark.parametrize(
    ("line", "known", "status", "told"),
    [
        (["an L-node loses another key", "a blind write"], MUTANTS, 0,
         ["model     map: an L-node loses another key (", "verdicts  checker: a blind write is taken at once (",
          "2 of 2 mutants caught (1 by model, 1 by verdicts); unmutated code accused 0 times"]),
        (["harmless"], of_checker("harmless", "_TRAIL: Final = 64", "_TRAIL: Final = 65"), 1,
         ["SURVIVED  checker: harmless"]),
        (["stale"], of_checker("stale", "no such text", ""), 2, ["STALE     checker: stale"]),
        (["--list"], MUTANTS, 0, [f"{mutant.of}: {mutant.name}" for mutant in (*CONTROLS, *MUTANTS)]),
        (["--list", NO_PASS], MUTANTS, 0, [f"subscriptions: {NO_PASS}"]),
        (["L-node", "no such mutant"], MUTANTS, 2,
         ["no mutant has 'no such mutant' in its name; --list tells which there are"]),
    ],
)  # fmt: skip
def test_the_command_tells_the_layer_of_each(
    line: list[str], known: Any, status: int, told: list[str], monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr("tests.tries.cli.mutants.MUTANTS", known)
    monkeypatch.setattr("tests.tries.mutants.checked.HISTORIES", 500)
    assert main(["mutants", *line, "--seed", str(SEED), "--processes", "1"]) == status
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert [line for line, start in zip(lines, told, strict=False) if not line.startswith(start)] == []
    assert len(lines) >= len(told)


def test_as_json_with_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", NO_PASS, "--json", "--processes", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    token = told["replay"].split()[-1]
    assert (told["layer"], decode(token).mutant) == ("explore", NO_PASS)
    assert main(["replay", token]) == 1
    assert "torn match" in capsys.readouterr().out


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("works", "line", "told"),
    [
        ("campaign._attempts", "explore map", "ended by SIGKILL"),
        ("mutants.suite.try_mutant", "mutants unmutated",
         "DIED      map: unmutated: the process that tried it was ended by SIGKILL"),
    ],
)  # fmt: skip
def test_a_process_that_dies_is_a_finding(works: str, line: str, told: str, monkeypatch: Any, capsys: Any) -> None:
    """Once it was "0 of 0 mutants caught", and status 0."""
    monkeypatch.setattr(f"tests.tries.{works}", die)
    assert main([*line.split(), "--processes", "1"]) == 1
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["explore", "map", "--duration", "0.01"], 2, "0 of the 15,998 scenarios"),
        (["explore", "maps"], 2, "nothing is called 'maps': there are map, subscriptions, shares, exclusions, topics,"),
        (["explore", "map", "--compiled", "--processes", "1"], 2, "make explored builds such ones"),
        *((["replay", text], 2, text) for text in ("x1.", "x1.AAAA", "x1.eNo", "no token")),
        pytest.param(
            ["explore", "routes", "--part", "pairs"], 0, "pairs of operations, with two preemptions (", marks=slow
        ),
    ],
)
def test_a_command_of_the_explorer(words: list[str], status: int, told: str, capsys: Any) -> None:
    assert main(words) == status
    printed = capsys.readouterr()
    assert told in printed.out + printed.err


def test_exploring_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["explore", "map", "--duration", "2", "--seed", str(SEED), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert status == (1 if told["found"] else 2)  # the matrix takes longer
    assert told["seed"] == SEED
    assert told["executions"] >= sum(told["scenarios"].values())
    assert told["of"]["pairs"] > 10_000


def test_progress_is_drawn_on_a_terminal() -> None:
    words = ["explore", "map", "--duration", "1", "--seed", str(SEED), "--processes", "1"]
    drawn, printed = drawn_by([sys.executable, "-m", "tests.tries", *words])
    assert " executions: " in drawn
    assert "\n  " in printed
    assert " pairs of operations, " in printed


def test_ctrl_c_leaves_what_was_explored() -> None:
    def press(tally: Tally, seconds: float) -> None:
        if tally.value("pairs executions"):
            _thread.interrupt_main()

    outcome = explore_matrix(Plan(("map",), parts=("pairs",)), press)
    assert (outcome.interrupted, outcome.verdict) == (True, Verdict.UNKNOWN)
    assert outcome.total > 0


def test_a_schedule_that_does_not_come_again_accuses_no_trie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.tries.campaign.stopped_for_ever", Mock(side_effect=Drift))
    with pytest.raises(WorkFailed, match=r"subscribe.*begins as an earlier"):
        explore_matrix(Plan(("shares",), parts=("stops",)))


# ----------------------------------------------------------------------------------------------------------- the matrix


def test_every_pair_of_operations_meets_on_every_start() -> None:
    for target in STARTS:
        met = {(each.start, *sorted((each.threads[0][0][0], each.threads[1][0][0]))) for each in pairs(target)}
        expected = set()
        for name, start in STARTS[target].items():
            for one in start.operations_of(target):
                for other in start.operations_of(target):
                    if not VARIANTS & {one, other} or {one, other} & set(CORE[target]):
                        expected.add((name, *sorted((one, other))))
        assert met == expected


def test_the_matrix_has_what_the_manual_says() -> None:
    settings = {setting for start in STARTS["subscriptions"].values() for setting, _ in start.settings}
    assert settings == {"cache", "exact", "index", "on_interest"}
    assert {"get_many", "update"} < OPERATIONS["map"].keys()
    assert {"deliveries", "deliveries_many", "match_many"} < OPERATIONS["subscriptions"].keys()
    assert {"shares", "exclusions", "topics", "fields", "routes"} < STARTS.keys()


@slow
@pytest.mark.parametrize("target", STARTS)
@pytest.mark.parametrize("part", [*MATRIX, "drawn"])
def test_a_sample_of_the_matrix_is_right(target: str, part: str) -> None:
    twin, random = load_copy(), Random(f"{SEED}/{target}/{part}")
    drawn = (random_scenario(target, random) for _ in range(30))
    sample = list(drawn) if part == "drawn" else list(MATRIX[part](target))
    assert sample
    for each in random.sample(sample, min(12, len(sample))):
        experiment = TrieExperiment(twin, each)
        attempts: Any = {"stops": stopped_for_ever, "drawn": partial(sampled, random=random)}.get(
            part, partial(bounded, preemptions=2)
        )
        for finding in islice(attempts(experiment), 200):
            assert finding is None, f"{finding.trouble}: {encode(Token(finding.scenario, finding.order))}"


@pytest.mark.skipif(ctrie.twin != "compiled", reason="the copies are of the interpreted twin")
@pytest.mark.parametrize("call", ["subscribe_many", "unsubscribe_many"])
@pytest.mark.parametrize("wrong", [-1, 0, 1])
def test_the_number_that_many_changes_answer_is_judged(call: str, wrong: int) -> None:
    """Some changes, as many, must explain all. The other thread's change makes it one more, or less."""
    rows = (("a", "x"), ("a.b", "x"), ("b", "x"))
    each = Scenario("subscriptions", "empty", (((call, rows),), (("subscribe", ("a.b", "x")),)))
    experiment = TrieExperiment(load_copy(), each)
    (many, args), *_ = experiment._bound[0]

    def told(*rows: Any) -> int:
        number: int = many(*rows)
        return number + wrong if 0 < number < len(rows) else number

    experiment._bound[0] = [(told, args)]
    assert any(finding is not None for finding in reduced(experiment)) is bool(wrong)


# ----------------------------------------------------------------------------------------------------- findings, tokens


def scenario(*threads: Any, start: str = "empty") -> Scenario:
    return Scenario("map", start, tuple((call,) for call in threads))


GET, PUT = ("get", ("a",)), ("__setitem__", ("a", 1001))
FAULT = "GCAS without a look at the generation"


@pytest.fixture(scope="module")
def broken() -> tuple[TrieCopy, Finding]:
    """A faulty twin, and the first finding in it, made as small as possible."""
    twin, random = load_copy(find(FAULT).changes), Random(SEED)
    experiments = (TrieExperiment(twin, random_scenario("map", random, ["one key"])) for _ in iter(int, 1))
    attempts = chain.from_iterable(islice(sampled(each, random), 100) for each in experiments)
    return twin, minimise(next(filter(None, attempts)), partial(TrieExperiment, twin))


def test_a_finding_is_small_and_explained(broken: tuple[TrieCopy, Finding]) -> None:
    _, finding = broken
    assert sum(map(len, finding.scenario.threads)) <= 3
    assert len(finding.order) < 60
    text = report_text.render(report_on_trie(*broken, FAULT))
    assert text.startswith("NOT linearizable: ")
    assert any(name in text for name in ("snapshot changed", "lost update", "stale read"))
    for part in (".prev: CAS C", " done", ".node: read I", "thread 0", "where, when first met,",
                 "To see it again: python -m tests.tries replay x1."):  # fmt: skip
        assert part in text


def test_its_token_brings_it_back(broken: tuple[TrieCopy, Finding], tmp_path: Path, capsys: Any) -> None:
    _, finding = broken
    token = encode(Token(finding.scenario, finding.order, FAULT))
    assert decode(token).scenario == finding.scenario
    assert main(["replay", token, "--report", str(tmp_path / "page.html")]) == 1
    assert str(finding.scenario) in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    assert '"trace": [[' in page
    assert "CAS C" in page
    status = main(["replay", encode(Token(finding.scenario, finding.order))])  # without the fault
    told = capsys.readouterr()
    assert told.out.startswith("Nothing is wrong") if status == 0 else "no step" in told.err


@pytest.mark.parametrize(
    ("mutant", "told"), [("clear does not return", "livelock"), ("get_or_create leaves others waiting", "deadlock")]
)
def test_what_never_ends_is_told(mutant: str, told: str) -> None:
    twin = load_copy(find(mutant).changes)
    each = scenario(("get_or_create", ("a", 1)), ("get_or_create", ("a", 2)), ("clear", ()))
    finding = next(filter(None, bounded(TrieExperiment(twin, each), 1)))
    text = report_text.render(report_on_trie(twin, finding))
    assert text.startswith(f"NOT all right: a {told}\n")
    assert len(text.splitlines()) < 400


def test_an_answer_that_cannot_be_read_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = TrieExperiment(load_copy(), scenario(("snapshot", ()), GET, start="one key"))
    monkeypatch.setattr(experiment, "_stir", lambda: 1 // 0)
    finding = next(filter(None, bounded(experiment, 0)))
    assert (finding.kind, finding.order) == ("structure", tuple(experiment.twin.machine.execution.order))
    assert finding.trouble == "what was answered cannot be read: ZeroDivisionError: integer division or modulo by zero"


def test_a_token_says_what_it_is_of_and_may_be_longer_than_a_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    each = scenario(GET, ("pop", ("a", None)), start="one key")
    for compiled, prefix in ((True, "c1."), (False, "x1.")):
        text = encode(Token(each, (0, 1, 1), compiled=compiled))
        assert text.startswith(prefix)
        assert (decode(text).compiled, decode(text).order) == (compiled, (0, 1, 1))
    calls = tuple(("get", (f"key {Random(number).random()}",)) for number in range(20))
    long = encode(Token(Scenario("map", "empty", (calls,)), (0,) * 60))
    assert len(long) > 255
    assert main(["replay", long]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out
    with pytest.raises(TokenError):
        decode("x1.")


def test_an_order_that_does_not_fit_and_one_that_does() -> None:
    experiment = TrieExperiment(load_copy(), scenario(GET, PUT))
    with pytest.raises(Drift):
        trace(experiment, [0] * 20)
    execution, _ = experiment.run(Switches((Switch(1, 1),)))
    told, finding = trace(experiment, execution.order)
    assert finding is None
    texts = [text.partition("  (")[0] for _, text in told.steps]
    assert texts[:3] == ["get('a') ...", "R1.node: read I1", "__setitem__('a', 1001) ..."]
    assert texts[-1] == "... get -> 1001"
    assert dict(told.legend)["C1"] == "CNode []"
