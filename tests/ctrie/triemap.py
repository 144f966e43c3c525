"""Scala's TrieMap, the reference implementation of the Ctrie, driven from Python.

The library comes with pyspark, among the jars of Spark; py4j runs it in a JVM of its own. Nothing is compiled: the
calls go through Java's ConcurrentMap view of the TrieMap, so each call is one message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ABSENT = "absent"  # what the ConcurrentMap view calls null; no value of these tests is None


def java_hash(text: str | None) -> int:
    """Return String.hashCode() as Java computes it: keys that collide there then collide here."""
    code = 0
    for unit in text or "":
        code = 31 * code + ord(unit) & 0xFFFFFFFF
    return code


class TrieMap:
    """A `scala.collection.concurrent.TrieMap` with the methods of a Ctrie, as far as both have them."""

    def __init__(self, jvm: Any, scala: Any = None) -> None:
        self._jvm = jvm
        self._scala = jvm.scala.collection.concurrent.TrieMap() if scala is None else scala
        self._java = jvm.scala.jdk.javaapi.CollectionConverters.asJava(self._scala)

    def get(self, key: str | None) -> Any:
        return self._answer(self._java.get(key))

    def put(self, key: str | None, value: int) -> Any:
        return self._answer(self._java.put(key, value))

    def put_if_absent(self, key: str | None, value: int) -> Any:
        return self._answer(self._java.putIfAbsent(key, value))

    def pop(self, key: str | None) -> Any:
        return self._answer(self._java.remove(key))

    def replace(self, key: str | None, value: int) -> bool:
        return self._java.replace(key, value) is not None

    def replace_if(self, key: str | None, old: int, new: int) -> bool:
        return self._java.replace(key, old, new)  # type: ignore[no-any-return]

    def remove_if(self, key: str | None, old: int) -> bool:
        return self._java.remove(key, old)  # type: ignore[no-any-return]

    def contains(self, key: str | None) -> bool:
        return self._scala.contains(key)  # type: ignore[no-any-return]

    def clear(self) -> None:
        self._scala.clear()

    def size(self) -> int:
        return self._scala.size()  # type: ignore[no-any-return]

    def is_empty(self) -> bool:
        return self._scala.isEmpty()  # type: ignore[no-any-return]

    def snapshot(self) -> TrieMap:
        return TrieMap(self._jvm, self._scala.snapshot())

    def readonly_snapshot(self) -> TrieMap:
        return TrieMap(self._jvm, self._scala.readOnlySnapshot())

    def content(self) -> dict[str | None, int]:
        """All pairs, in one message. Keys contain no spaces, so the text can be split."""
        text = self._scala.mkString(",")
        pairs = [pair.split(" -> ") for pair in text.split(",") if pair]
        return {None if key == "null" else key: int(value) for key, value in pairs}

    @staticmethod
    def _answer(value: Any) -> Any:
        return ABSENT if value is None else value


@contextmanager
def scala() -> Iterator[Any]:
    """Start a JVM that has Scala's library, and yield py4j's view of it."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    jars = Path(pyspark.__file__).parent / "jars"
    (library,) = jars.glob("scala-library-*.jar")
    (bridge,) = jars.glob("py4j-*.jar")
    port = launch_gateway(classpath=str(library), jarpath=str(bridge), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
