"""The same random operations on a Ctrie and on Scala's TrieMap, the reference implementation, give the same answers.

The library comes with pyspark, among the jars of Spark; py4j runs it in a JVM of its own. Nothing is compiled: the calls
go through Java's ConcurrentMap view of the TrieMap, so each call is one message.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctrie import Ctrie
from tests.ctrie.oracle import ABSENT

pytestmark = pytest.mark.spark  # it needs the jars of pyspark, and Java


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """py4j's view of a JVM that has Scala's library."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    jars = Path(pyspark.__file__).parent / "jars"
    (library,) = jars.glob("scala-library-*.jar")
    (bridge,) = jars.glob("py4j-*.jar")
    port = launch_gateway(classpath=str(library), jarpath=str(bridge), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway.jvm
    gateway.shutdown()


def java_hash(text: str | None) -> int:
    """Return String.hashCode() as Java computes it: keys that collide there then collide here."""
    code = 0
    for unit in text or "":
        code = 31 * code + ord(unit) & 0xFFFFFFFF
    return code


def put(m: Any, k: str | None, value: int) -> Any:
    old = m.get(k, ABSENT)
    m[k] = value
    return old


# Each pair is a call of Java's view (`j`) or of the TrieMap (`s`), and the same on a Ctrie, with a key and two values. The
# view calls null what is absent; no value is None.
Call = Callable[..., Any]
OPERATIONS: dict[str, tuple[Call, Call]] = {
    "put": (lambda j, s, k, v, w: j.put(k, v), lambda m, k, v, w: put(m, k, v)),
    "put again": (lambda j, s, k, v, w: j.put(k, w), lambda m, k, v, w: put(m, k, w)),
    "get": (lambda j, s, k, v, w: j.get(k), lambda m, k, v, w: m.get(k, ABSENT)),
    "in": (lambda j, s, k, v, w: s.contains(k), lambda m, k, v, w: k in m),
    "put_if_absent": (lambda j, s, k, v, w: j.putIfAbsent(k, v), lambda m, k, v, w: m.put_if_absent(k, v, ABSENT)),
    "pop": (lambda j, s, k, v, w: j.remove(k), lambda m, k, v, w: m.pop(k, ABSENT)),
    "replace": (lambda j, s, k, v, w: j.replace(k, v) is not None, lambda m, k, v, w: m.replace(k, v)),
    "replace_if": (lambda j, s, k, v, w: j.replace(k, v, w), lambda m, k, v, w: m.replace_if(k, v, w)),
    "remove_if": (lambda j, s, k, v, w: j.remove(k, v), lambda m, k, v, w: m.remove_if(k, v)),
    "len": (lambda j, s, k, v, w: s.size(), lambda m, k, v, w: len(m)),
    "not": (lambda j, s, k, v, w: s.isEmpty(), lambda m, k, v, w: not m),
}


class Both(NamedTuple):
    jvm: Any
    scala: Any
    ctrie: Any

    def operate(self, name: str, *arguments: Any) -> None:
        there, here = OPERATIONS[name]
        java = self.jvm.scala.jdk.javaapi.CollectionConverters.asJava(self.scala)
        answer = there(java, self.scala, *arguments)
        assert here(self.ctrie, *arguments) == (ABSENT if answer is None else answer), f"{name}{arguments}"

    def check(self) -> None:
        """Compare all pairs. Keys contain no spaces, so the text can be split."""
        pairs = [pair.split(" -> ") for pair in self.scala.mkString(",").split(",") if pair]
        content = {None if key == "null" else key: int(value) for key, value in pairs}
        assert content == dict(self.ctrie.items())
        self.ctrie.check()


def colliding_words(pairs: int) -> list[str]:
    """Return 2 ** pairs words with one hash: in Java, "Aa" and "BB" have the same hash."""
    words = [""]
    for _ in range(pairs):
        words = [word + ending for word in words for ending in ("Aa", "BB")]
    return words


UNIVERSES: dict[str, list[str | None]] = {
    "few": [None, *"abcdefg"],
    "colliding": [*colliding_words(3), "a", None],
    "many": [f"k{number}" for number in range(400)],
}


def test_the_colliding_words_collide_there_and_here(jvm: Any) -> None:
    words = colliding_words(3)
    assert {java_hash(word) for word in words} == {jvm.java.util.Objects.hashCode(word) for word in words}
    assert (len({java_hash(word) for word in words}), len(words)) == (1, 8)


@pytest.mark.parametrize("universe", UNIVERSES)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_operations_give_the_same_answers(jvm: Any, universe: str, seed: int) -> None:
    chance = random.Random(seed)
    live = [Both(jvm, jvm.scala.collection.concurrent.TrieMap(), Ctrie(hash=java_hash))]
    frozen: list[Both] = []
    for _ in range(700):
        both, what = chance.choice(live), chance.random()
        arguments = chance.choice(UNIVERSES[universe]), chance.randrange(3), chance.randrange(3)
        if what < 0.95:
            both.operate(chance.choice(list(OPERATIONS)), *arguments)
        elif what < 0.955:
            both.scala.clear()
            both.ctrie.clear()
        elif what < 0.98:
            live = [*live, Both(jvm, both.scala.snapshot(), both.ctrie.snapshot())][-4:]
        else:
            # Only live ones are frozen: in Scala, a snapshot of a read-only snapshot raises a NullPointerException.
            frozen = [*frozen, Both(jvm, both.scala.readOnlySnapshot(), both.ctrie.readonly_snapshot())][-3:]
        if frozen:
            chance.choice(frozen).operate("get", *arguments)
    for both in [*live, *frozen]:
        both.check()
