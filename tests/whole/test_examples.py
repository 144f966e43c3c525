"""The examples: each runs, prints what its page shows, and does what it says where that is not printed."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from examples import demo, mqtt_deliveries, websocket_service
from subtrie import MQTT, SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOWN = re.compile(r"^<!-- output of examples/(\w+\.py) -->\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAYS = dict(
    each for page in (EXAMPLES.parent / "docs").rglob("*.md") for each in SHOWN.findall(page.read_text("utf-8"))
)
ELSEWHERE = {"amqtt_on_a_trie.py", "demo.py", "subscriptions_in_spark.py"}  # tested by itself, and below


@pytest.mark.docs
@pytest.mark.parametrize("example", sorted(SAYS))
def test_runs_and_says_what_the_manual_shows(example: str) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", str(EXAMPLES / example)]
    done = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)
    # With `-X dev`, asyncio says when a step takes a tenth of a second, which on a busy machine it may.
    told = re.sub(r"^Executing <.* took \d+\.\d+ seconds\n", "", done.stderr, flags=re.M)
    assert (told, done.stdout) == ("", SAYS[example])


@pytest.mark.docs
@pytest.mark.once
def test_all_examples_are_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == SAYS.keys() | ELSEWHERE


@pytest.mark.cluster
def test_spark_answers_questions_and_draws_the_answers(tmp_path: Path) -> None:
    picture = tmp_path / "answers.png"
    command = [sys.executable, str(EXAMPLES / "subscriptions_in_spark.py"), str(picture)]
    done = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.search(r"^plan: (trie|join), since .*\n(.*\n)*\d+ filters match none of the messages", done.stdout, re.M)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_each_shared_subscription_of_a_client_is_delivered_by_itself() -> None:
    routes: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    routes.subscribe("$share/g/t1", "ann", qos=1, subscription_identifier=1)
    routes.subscribe("$share/g/+", "ann", qos=2, subscription_identifier=2)
    routes.subscribe("t1", "ann", qos=0)
    found = mqtt_deliveries.sends(routes, "t1", 2)
    assert sorted((one.qos, one.identifiers) for one in found) == [(0, ()), (1, (1,)), (2, (2,))]
    routes.check()


RULES = [("ann", "sub", "plant/#", True), ("ann", "sub", "plant/+/secret/#", False)]


@pytest.mark.parametrize(
    ("wanted", "exclusions"),
    [
        ("plant/7/#", ("plant/+/secret/#",)),
        ("$share/g/plant/7/heat", ()),
        ("#", "ann may not subscribe to #"),
        ("plant/7/secret/key", "ann is denied plant/7/secret/key"),
    ],
)
def test_rights_of_the_service_allow_what_one_rule_subsumes(wanted: str, exclusions: object) -> None:
    rights = websocket_service.Rights(RULES)
    try:
        found: object = rights.exclusions("ann", wanted)
    except PermissionError as error:
        found = str(error)
    assert found == exclusions


def test_what_the_service_cannot_understand_is_refused_and_the_client_goes_on() -> None:
    service = websocket_service.Service(websocket_service.Rights([*RULES, ("ann", "pub", "plant/7/+", True)]))
    bad: list[dict[str, Any]] = [
        {},
        {"publish": "plant/7/heat"},
        {"publish": "plant/8/heat", "value": 1},
        {"subscribe": {"plant/#/x": {"id": 1, "slow": "close"}}},
        {"subscribe": {"plant/7/heat": {}}},
        {"subscribe": {"plant/7/heat": {"id": 1, "slow": "close"}}, "after": -1},
    ]
    good: list[dict[str, Any]] = [{"publish": "plant/7/secret", "value": 1}, {"publish": "plant/7/heat", "value": 21}]
    socket = websocket_service.Socket(*bad, *good, {"subscribe": {"plant/+/+": {"id": 3, "slow": "newest"}}}, {})
    socket.reads.set()

    async def talk() -> None:
        serving = asyncio.create_task(service.serve("ann", socket))
        while len(socket.got) < 9:
            await asyncio.sleep(0)
        await socket.close()
        await serving

    asyncio.run(talk())
    assert [text for text in socket.got if "refused" not in text] == [
        f'[3, {service.hub.position}, "plant/7/heat", 21]',
        '{"all of": ["plant/+/+"]}',
    ]
    service.hub.routes.check()


@pytest.mark.docs
class TestDemonstration:
    def test_finds_no_fault(self, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
        assert demo.demonstrate(spark, 3, 2_000) == 0
        told = capsys.readouterr().out
        assert told.endswith("Spark: one instant, of each writer a prefix of its steps\n")
        assert "1 threads wrote, 2 matched" in told
        assert "; 0 answers were wrong\n" in told

    @pytest.mark.parametrize("fault", ["lost", "of another instant", "on a wrong filter", "none"])
    def test_tells_a_cut_from_what_is_none(self, spark: SparkSession, fault: str) -> None:
        trie = demo.Trie()
        writer = demo.Writer(trie, 0, ["a.b", "a.*", "c"])
        for step in range(3, 8 if fault != "of another instant" else 9):
            done = [writer.completed + 2 * (step < 8)]
            writer.change(trie.subscribe, step)
            writer.change(trie.unsubscribe, step - 3)
        if fault in ("lost", "on a wrong filter"):
            trie.unsubscribe("a.*", (0, 7))
        if fault == "on a wrong filter":
            trie.subscribe("a.b", (0, 7))
        rows = snapshot.to_spark(trie, spark, key=lambda one: f"{one[0]} {one[1]} {writer.filter_of(one[1])}")
        found = demo.faults(rows, [writer], done, done)
        assert [each.partition(":")[0] for each in found] == ([] if fault == "none" else ["writer 0"])
        trie.check()
