"""The examples: each runs, and does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from examples import mqtt_deliveries, small_broker
from subtrie import MQTT, SubscriptionTrie

EXAMPLES = Path(__file__).parents[2] / "examples"


def shown_output() -> dict[str, str]:
    """The output of the examples, as the manual shows it."""
    shown = re.compile(r"^<!-- output of examples/(\w+\.py) -->\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    pages = (page.read_text(encoding="utf-8") for page in (EXAMPLES.parent / "docs").rglob("*.md"))
    return {example: says for page in pages for example, says in shown.findall(page)}


SAYS = shown_output()
ELSEWHERE = {"amqtt_on_a_trie.py", "demo.py"}  # tested in files of their own
IN_SPARK = {"subscriptions_in_spark.py"}  # starts a Spark session of its own


@pytest.mark.slow  # together they are slow
@pytest.mark.parametrize("example", sorted(SAYS))
def test_runs_and_says_what_the_manual_shows(example: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", EXAMPLES / example],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    # With `-X dev`, asyncio says when a step takes a tenth of a second, which on a busy machine it may.
    told = re.sub(r"^Executing <.* took \d+\.\d+ seconds\n", "", done.stderr, flags=re.M)
    assert (told, done.stdout) == ("", SAYS[example])


@pytest.mark.cluster
@pytest.mark.parametrize("example", sorted(IN_SPARK))
def test_asks_questions_and_draws_the_answers(example: str, tmp_path: Path) -> None:
    picture = tmp_path / "answers.png"
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, picture], cwd=EXAMPLES.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.search(r"^plan: (trie|join), since .*\n(.*\n)*\d+ filters match none of the messages", done.stdout, re.M)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_all_examples_are_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == SAYS.keys() | ELSEWHERE | IN_SPARK


class TestDeliveries:
    def test_each_shared_subscription_of_a_client_is_delivered_by_itself(self) -> None:
        routes: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
        routes.subscribe("$share/g/t1", "ann", qos=1, subscription_identifier=1)
        routes.subscribe("$share/g/+", "ann", qos=2, subscription_identifier=2)
        routes.subscribe("t1", "ann", qos=0)
        found = mqtt_deliveries.sends(routes, "t1", 2)
        assert sorted((one.qos, one.identifiers) for one in found) == [(0, ()), (1, (1,)), (2, (2,))]
        routes.check()


class TestSmallBroker:
    def test_a_member_of_a_group_gets_its_own_copy_too(self) -> None:
        broker = small_broker.Broker()
        with broker.connected("ann") as ann:
            broker.subscribe(ann, "t")
            broker.subscribe(ann, "$share/g/t")
            assert broker.publish("t", b"x") == 2
            assert len(ann.messages()) == 2

    def test_a_client_that_reads_gets_all_retained_messages(self) -> None:
        broker = small_broker.Broker()
        for n in range(3_000):
            broker.publish(f"kept/{n}", b"x", retain=True)
        with broker.connected("ann") as ann:
            reading = Thread(target=broker.subscribe, args=(ann, "kept/#"))
            reading.start()
            got: list[tuple[str, bytes]] = []
            while len(got) < 3_000:
                got += ann.messages()
            reading.join()
            assert (len(got), ann.lost) == (3_000, 0)
