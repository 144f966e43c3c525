"""Each layer catches its mutants, no layer accuses the unmutated code, and the suite reports this."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable

import pytest

from stress.explorer.trace import trace
from tests.tries.cli import main
from tests.tries.experiment import TrieExperiment
from tests.tries.mutants.catalogue import MUTANTS, find
from tests.tries.mutants.mutant import Mutant
from tests.tries.mutants.suite import CONTROLS, try_mutant
from tests.tries.source_copy import StaleChange
from tests.tries.token import decode
from tests.tries.trie_copy import load_copy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
]  # mutants are of the interpreted twin and the C text, whatever twin the tests run

SEED = int(os.environ.get("STRESS_SEED", "1"))
ATTEMPTS = 20_000  # the most executions of a mutant; nearly all take a few hundred
LAYERS = {
    "map": {"model", "explore"},
    "subscriptions": {"model", "explore"},
    "shares": {"model", "explore"},
    "exclusions": {"model", "explore"},
    "topics": {"model", "explore"},
    "fields": {"model", "explore"},
    "routes": {"model", "explore"},
    "checker": {"verdicts"},
    "reclaimer": {"threads"},
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.of}: {mutant.name}")
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    trial = try_mutant(mutant, SEED, ATTEMPTS)
    if trial.untried:
        pytest.skip(trial.untried)
    assert not trial.stale, trial.stale
    assert trial.layer in LAYERS[mutant.of], f"survived {trial.attempts} attempts, STRESS_SEED={SEED}"
    assert trial.seen
    if trial.replay:
        token = decode(trial.replay.split()[-1])
        _, finding = trace(TrieExperiment(load_copy(mutant.changes), token.scenario), token.order)
        assert finding is not None, "its token does not bring it back"


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.of)
def test_the_unmutated_code_is_not_accused(control: Mutant) -> None:
    trial = try_mutant(control, SEED, ATTEMPTS)
    assert not trial.layer, f"{trial.seen}: {trial.replay}, STRESS_SEED={SEED}"


def test_one_that_cannot_even_make_its_start_is_caught() -> None:
    where = "    if lev >= HASH_BITS:\n        return new_lnode"
    unable = Mutant("unable", "map", (("ctrie._nodes", where, f"    1 / 0\n{where}"),), starts=("about to tomb",))
    trial = try_mutant(unable, SEED, ATTEMPTS)
    assert (trial.layer, trial.attempts) == ("model", 0)
    assert trial.seen == "the start cannot be made (map, about to tomb): ZeroDivisionError: division by zero"


def test_there_are_enough() -> None:
    kinds = Counter(mutant.of for mutant in MUTANTS)
    assert kinds["map"] + kinds["subscriptions"] >= 25
    assert kinds["checker"] >= 5
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_text_that_no_longer_occurs_is_an_error() -> None:
    stale = Mutant("stale", "map", (("ctrie._nodes", "no such text", ""),))
    with pytest.raises(StaleChange, match=r"'no such text' occurs 0 times in ctrie\._nodes"):
        load_copy(stale.changes)
    trial = try_mutant(stale, SEED, 1)
    assert not trial.is_well
    assert "no such text" in trial.stale


class TestCommand:
    def test_the_layer_of_each_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        words = ["an L-node loses another key", "a blind write", "--seed", str(SEED), "--processes", "1"]
        assert main(["mutants", *words]) == 0
        told = capsys.readouterr().out.splitlines()
        assert told[0].startswith("model     map: an L-node loses another key (")
        assert told[1].startswith("verdicts  checker: a blind write is taken at once (")
        assert told[2].startswith("2 of 2 mutants caught (1 by model, 1 by verdicts); unmutated code accused 0 times")

    def test_as_json_with_a_token(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["mutants", "a match has no second pass", "--json", "--processes", "1"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["layer"] == "explore"
        token = decode(told["replay"].split()[-1])
        assert token.mutant == "a match has no second pass"
        assert main(["replay", told["replay"].split()[-1]]) == 1
        assert "torn match" in capsys.readouterr().out

    def test_one_that_survives_is_a_failure(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harmless = Mutant(
            "harmless", "checker", (("stress.checker.search", "_TRAIL: Final = 64", "_TRAIL: Final = 65"),)
        )
        monkeypatch.setattr("tests.tries.cli.mutants.MUTANTS", (harmless,))
        assert main(["mutants", "harmless", "--processes", "1"]) == 1
        assert "SURVIVED  checker: harmless" in capsys.readouterr().out

    def test_a_stale_one_is_a_status_of_its_own(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        stale = Mutant("stale", "checker", (("stress.checker.search", "no such text", ""),))
        monkeypatch.setattr("tests.tries.cli.mutants.MUTANTS", (stale,))
        assert main(["mutants", "stale", "--processes", "1"]) == 2
        assert "STALE     checker: stale" in capsys.readouterr().out

    def test_a_list_of_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["mutants", "--list"]) == 0
        listed = capsys.readouterr().out.splitlines()
        assert listed == [f"{mutant.of}: {mutant.name}" for mutant in (*CONTROLS, *MUTANTS)]
        assert main(["mutants", "--list", "a match has no second pass"]) == 0
        assert capsys.readouterr().out == "subscriptions: a match has no second pass\n"

    def test_a_name_that_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["mutants", "L-node", "no such mutant"]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err == "no mutant has 'no such mutant' in its name; --list tells which there are\n"
        with pytest.raises(LookupError):
            find("no such mutant")


@pytest.fixture(autouse=True)
def _the_seed(record_property: Callable[[str, object], None]) -> None:
    record_property("STRESS_SEED", SEED)
