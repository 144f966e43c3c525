"""The example broker (examples/mqtt_broker.py): real clients use it, and get what a real Mosquitto gives them."""

from __future__ import annotations

import asyncio
import importlib.util
import queue
import socket
import struct
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.brokers import mosquitto
from benchmarks.brokers.server import program

paho = pytest.importorskip("paho.mqtt.client")
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402
from paho.mqtt.subscribeoptions import SubscribeOptions  # noqa: E402

pytestmark = [pytest.mark.once]

PATIENCE = 30
EXAMPLE = Path(__file__).parents[2] / "examples" / "mqtt_broker.py"


def load_example() -> ModuleType:
    import sys

    if str(EXAMPLE.parent) not in sys.path:
        sys.path.append(str(EXAMPLE.parent))  # mqtt_packets stands beside it
    spec = importlib.util.spec_from_file_location("mqtt_broker", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mqtt_broker"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@contextmanager
def example_broker(refused: tuple[str, ...] = ()) -> Iterator[int]:
    """Run the example in a thread of its own; yield its port."""
    module = load_example()
    told: queue.Queue[tuple[int, Callable[[], object]]] = queue.Queue()

    async def serve() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        ready: asyncio.Future[int] = loop.create_future()
        task = loop.create_task(module.run(0, ready, refused))
        told.put((await ready, lambda: loop.call_soon_threadsafe(stop.set)))
        await stop.wait()
        task.cancel()
        await asyncio.wait([task])

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    port, stop = told.get(timeout=PATIENCE)
    try:
        yield port
    finally:
        stop()
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with example_broker() as port:
        yield port


class Client:
    """A paho client that waits for each answer."""

    def __init__(self, port: int, name: str, version: int = paho.MQTTv5, will: dict[str, Any] | None = None) -> None:
        self.name = name
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=name, protocol=version)
        self.got: queue.Queue[Any] = queue.Queue()
        self._answers: queue.Queue[Any] = queue.Queue()
        self.client.on_message = lambda _, __, message: self.got.put(message)
        for event in ("on_connect", "on_subscribe", "on_unsubscribe", "on_publish"):
            setattr(self.client, event, lambda *args: self._answers.put(args))
        if will is not None:
            self.client.will_set(**will)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        self._answers.get(timeout=PATIENCE)

    def subscribe(self, filter: str, identifier: int | None = None, **options: Any) -> list[int]:
        if self.client.protocol != paho.MQTTv5:
            self.client.subscribe(filter, options.get("qos", 0))
        else:
            described = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]
            if identifier is not None:
                described.SubscriptionIdentifier = identifier
            self.client.subscribe(filter, options=SubscribeOptions(**options), properties=described)
        answer = self._answers.get(timeout=PATIENCE)
        return [code.value for code in answer[3]]

    def unsubscribe(self, filter: str) -> None:
        self.client.unsubscribe(filter)
        self._answers.get(timeout=PATIENCE)

    def publish(self, topic: str, payload: str, qos: int = 1, retain: bool = False) -> None:
        self.client.publish(topic, payload, qos, retain)
        self._answers.get(timeout=PATIENCE)

    def received(self, until: str) -> list[tuple[str, str, int, bool, tuple[int, ...]]]:
        """The messages before the one with the payload `until`."""
        found = []
        while (message := self.got.get(timeout=PATIENCE)).payload != until.encode():
            identifiers = getattr(message.properties, "SubscriptionIdentifier", [])
            found.append(
                (message.topic, message.payload.decode(), message.qos, bool(message.retain), tuple(sorted(identifiers)))
            )
        return found

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def die(self) -> None:
        """Disconnect without a packet."""
        self.client._sock.close()
        self.client.loop_stop()


@pytest.fixture
def connect(port: int) -> Iterator[Callable[..., Client]]:
    with connecting(port) as connect:
        yield connect


@contextmanager
def connecting(port: int) -> Iterator[Callable[..., Client]]:
    with ExitStack() as stack:

        def connect(name: str, **how: Any) -> Client:
            client = Client(port, name, **how)
            stack.callback(client.close)
            return client

        yield connect


def fence(clients: list[Client], sender: Client) -> dict[str, Any]:
    """The messages that each client has received so far, sorted."""
    for client in clients:
        client.subscribe("fence", qos=1)
    sender.publish("fence", "fence")
    return {client.name: sorted(client.received("fence")) for client in clients}


def session(connect: Callable[..., Client]) -> dict[str, Any]:
    """Options, groups, overlaps and retained messages, as clients see them."""
    sender, ann, bob, cat, dan = (connect(name) for name in ("sender", "ann", "bob", "cat", "dan"))
    old = connect("old", version=paho.MQTTv311)
    sender.publish("house/1/heat", "kept", retain=True)
    sender.publish("house/2/heat", "gone", retain=True)
    sender.publish("house/2/heat", "", retain=True)
    ann.subscribe("house/+/heat", 3, qos=1)
    ann.subscribe("house/#", 5, qos=2, retainHandling=2)
    bob.subscribe("house/1/heat", qos=0, retainAsPublished=True)
    old.subscribe("house/#", qos=1)
    for member in (cat, dan):
        member.subscribe("$share/workers/jobs/#", qos=1)
    dan.subscribe("jobs/+", 7, qos=1)
    sender.subscribe("house/#", qos=1, noLocal=True, retainHandling=2)
    sender.publish("house/1/heat", "one", qos=2)
    sender.publish("house/3/light", "two", qos=0)
    ann.publish("house/9/heat", "three", qos=1)
    for job in range(6):
        sender.publish(f"jobs/{job}", f"job {job}")
    bob.unsubscribe("house/1/heat")
    sender.publish("house/1/heat", "four", qos=1, retain=True)
    return fence([ann, bob, cat, dan, old, sender], ann)


class TestSession:
    def test_each_client_gets_what_its_subscriptions_say(self, connect: Callable[..., Client]) -> None:
        got = session(connect)
        assert got["ann"] == [
            ("house/1/heat", "four", 1, False, (3, 5)),
            ("house/1/heat", "kept", 1, True, (3,)),
            ("house/1/heat", "one", 2, False, (3, 5)),
            ("house/3/light", "two", 0, False, (5,)),
            ("house/9/heat", "three", 1, False, (3, 5)),
        ]
        assert got["bob"] == [("house/1/heat", "kept", 0, True, ()), ("house/1/heat", "one", 0, False, ())]
        assert got["sender"] == [("house/9/heat", "three", 1, False, ())]
        assert [payload for _, payload, *_ in got["old"]] == ["four", "kept", "one", "two", "three"]
        shared = [one for one in got["cat"]] + [one for one in got["dan"] if one[4] == ()]
        assert sorted(payload for _, payload, *_ in shared) == [f"job {n}" for n in range(6)]
        assert len([one for one in got["dan"] if one[4] == (7,)]) == 6

    def test_a_will_is_published_when_a_client_dies(self, connect: Callable[..., Client], port: int) -> None:
        watcher = connect("watcher")
        watcher.subscribe("wills/#", qos=1)
        Client(port, "mortal", will={"topic": "wills/mortal", "payload": "gone", "qos": 1}).die()
        message = watcher.got.get(timeout=PATIENCE)
        assert (message.topic, message.payload) == ("wills/mortal", b"gone")

    def test_a_bad_filter_is_refused_and_the_client_goes_on(self, connect: Callable[..., Client]) -> None:
        client = connect("clumsy")
        assert client.subscribe("$share//a", qos=1) == [0x8F]
        assert client.subscribe("a/#", qos=1) == [1]

    @pytest.mark.parametrize("version", [paho.MQTTv311, paho.MQTTv5])
    def test_a_filter_that_the_broker_refuses(self, version: int) -> None:
        with example_broker(refused=("secret/#",)) as port, connecting(port) as connect:
            client = connect("curious", version=version)
            filters = ("secret/#", "secret/+/key", "secret", "$share/g/secret/door", "secrets", "+/door")
            answers = {filter: client.subscribe(filter, qos=1)[0] for filter in filters}
            assert answers == dict.fromkeys(filters[:4], 0x80) | dict.fromkeys(filters[4:], 1)

    def test_who_comes_again_by_the_same_name_takes_its_place(self, connect: Callable[..., Client]) -> None:
        first = connect("twin")
        gone = threading.Event()
        first.client.on_disconnect = lambda *_: gone.set()
        first.client.reconnect_delay_set(60, 60)
        second = connect("twin")
        assert gone.wait(PATIENCE)
        assert second.subscribe("a", qos=1) == [1]

    @pytest.mark.skipif(program("mosquitto_sub") is None, reason="mosquitto's clients are not installed")
    def test_mosquittos_own_clients(self, port: int, connect: Callable[..., Client]) -> None:
        sender = connect("for-mosquitto")
        sender.publish("shop/1", "retained", retain=True)
        command = ["mosquitto_sub", "-V", "mqttv5", "-p", str(port), "-t", "shop/+", "-q", "1", "-C", "1", "-v"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert done.stdout == "shop/1 retained\n"


class Raw:
    """A client of raw packets, which writes as fast as the broker takes them, and reads when it is told."""

    def __init__(self, port: int, name: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._send(0x10, b"\0\4MQTT\4\2\0\0" + struct.pack(">H", len(name)) + name.encode())
        assert self.socket.recv(4) == b" \2\0\0"

    def _send(self, head: int, body: bytes) -> None:
        size, length = len(body), b""
        while True:
            size, low = size >> 7, size & 127
            length += bytes([low | 128 if size else low])
            if not size:
                break
        self.socket.sendall(bytes([head]) + length + body)

    def subscribe(self, filter: str) -> None:
        self._send(0x82, b"\0\1" + struct.pack(">H", len(filter)) + filter.encode() + b"\0")
        assert self.socket.recv(5)[:1] == b"\x90"

    def publish(self, topic: str, payload: bytes, qos: int = 0, identifier: int = 1, retain: bool = False) -> None:
        body = struct.pack(">H", len(topic)) + topic.encode() + (struct.pack(">H", identifier) if qos else b"")
        self._send(0x30 | qos << 1 | retain, body + payload)

    def close(self) -> None:
        self.socket.close()


MANY = 10_000


def payloads(client: Client, count: int) -> list[bytes]:
    return [client.got.get(timeout=PATIENCE).payload for _ in range(count)]


class TestBursts:
    """A bound that is meant for slow readers meets no burst."""

    @pytest.mark.parametrize("qos", [0, 1, 2])
    def test_a_client_that_reads_gets_all_of_a_burst(self, connect: Callable[..., Client], port: int, qos: int) -> None:
        reader, sender = connect(f"reader-{qos}"), Raw(port, f"burst-{qos}")
        reader.subscribe(f"burst/{qos}", qos=qos)
        for n in range(MANY):
            sender.publish(f"burst/{qos}", b"%d" % n, qos, n % 60_000 + 1)
        assert payloads(reader, MANY) == [b"%d" % n for n in range(MANY)]
        sender.close()

    def test_what_a_client_sent_before_it_left_is_published(self, connect: Callable[..., Client], port: int) -> None:
        reader, sender = connect("stays"), Raw(port, "leaves")
        reader.subscribe("last/words", qos=0)
        for n in range(1_000):
            sender.publish("last/words", b"%d" % n)
        sender._send(0xE0, b"")
        sender.close()
        assert payloads(reader, 1_000) == [b"%d" % n for n in range(1_000)]

    @pytest.mark.parametrize("qos", [0, 1])
    def test_a_new_subscriber_gets_all_retained_messages(
        self, connect: Callable[..., Client], port: int, qos: int
    ) -> None:
        sender = Raw(port, f"keeper-{qos}")
        for n in range(MANY):
            sender.publish(f"kept/{qos}/{n}", b"%d" % n, 1, n % 60_000 + 1, retain=True)
        fence = connect(f"fence-{qos}")
        fence.subscribe(f"kept/{qos}/{MANY - 1}", qos=1)
        assert payloads(fence, 1) == [b"%d" % (MANY - 1)]  # all of them are there
        reader = connect(f"late-{qos}")
        reader.subscribe(f"kept/{qos}/#", qos=qos)
        assert sorted(map(int, payloads(reader, MANY))) == list(range(MANY))
        sender.close()

    def test_clients_that_do_not_read_take_no_more_than_their_rooms(self) -> None:
        """Four of them, and 300 messages of 100 kB; what waits for them is measured in the broker itself."""
        module = load_example()

        async def flood() -> tuple[int, int]:
            broker = module.Broker()
            sessions = []
            for n in range(4):
                session = module.Session(f"slow-{n}", expiry=100)
                broker.sessions[session.name] = session
                broker.routes.subscribe("big", session, qos=1)
                sessions.append(session)
            most = 0
            for _ in range(300):
                await broker.publish(module.Message("big", b"x" * 100_000, 1, False), None)
                most = max(most, *(session.mailbox.bytes for session in sessions))
            return most, broker.lost

        most, lost = asyncio.run(flood())
        assert most <= module.ROOM
        assert lost == 4 * (300 - 10)

    def test_a_client_that_was_slow_and_comes_back_has_the_whole_patience_again(self) -> None:
        """Otherwise the first message that finds its mailbox full would disconnect it again, before it could read."""
        module = load_example()

        async def come_back() -> tuple[bool, bool]:
            broker = module.Broker()
            session, _ = await broker._session("slow", False)
            session.mailbox.patience = 0
            session.mailbox.forgive()  # that is, of no patience
            while await session.mailbox.put(
                module.Outgoing(module.Message("big", bytes(100_000), 1, False), 1, False), slow="drop"
            ):
                pass
            was_slow = session.mailbox.is_stalled
            assert await broker._session("slow", False) == (session, True)
            return was_slow, session.mailbox.is_stalled

        assert asyncio.run(come_back()) == (True, False)


class TestSessions:
    def test_each_shared_subscription_of_a_client_gives_a_copy(self, connect: Callable[..., Client]) -> None:
        client = connect("twice")
        client.subscribe("$share/g/shared/1", qos=1)
        client.subscribe("$share/g/shared/+", qos=1)
        client.subscribe("shared/#", qos=1)
        client.publish("shared/1", "x")
        assert payloads(client, 3) == [b"x"] * 3
        assert [payload for _, payload, *_ in fence([client], client)["twice"]] == []

    def test_a_session_keeps_messages_while_its_client_is_away(self, connect: Callable[..., Client], port: int) -> None:
        def away() -> Client:
            client = Client.__new__(Client)
            client.name, client.got = "traveller", queue.Queue()
            client._answers = queue.Queue()
            client.client = paho.Client(
                paho.CallbackAPIVersion.VERSION2, client_id="traveller", protocol=paho.MQTTv311, clean_session=False
            )
            client.client.on_message = lambda _, __, message: client.got.put(message)
            for event in ("on_connect", "on_subscribe"):
                setattr(client.client, event, lambda *args: client._answers.put(args))
            client.client.connect("127.0.0.1", port)
            client.client.loop_start()
            client._answers.get(timeout=PATIENCE)
            return client

        first = away()
        first.subscribe("post/#", qos=1)
        first.close()
        sender = connect("post-office")
        for n in range(100):
            sender.publish("post/1", str(n), qos=1)
        second = away()
        assert payloads(second, 100) == [b"%d" % n for n in range(100)]
        second.close()


@pytest.mark.brokers
@pytest.mark.skipif(program("mosquitto") is None, reason="mosquitto is not installed")
def test_a_real_mosquitto_delivers_the_same() -> None:
    """MQTT 5 (3.3.4) leaves open whether a client gets a message once for each of its subscriptions that match, as from
    Mosquitto, or once with all their identifiers. So the test compares each message, the greatest quality at which it
    came, and all identifiers that came with it. Each broker decides which member of a shared subscription gets a
    message."""
    answers = []
    for running in (example_broker, mosquitto._running):
        with running() as port, connecting(port) as connect:
            answers.append(session(connect))
    ours, theirs = answers
    for name in ("ann", "bob", "old", "sender"):
        assert summed(ours[name]) == summed(theirs[name]), name
    for answer in answers:
        taken = [one for one in answer["cat"]] + [one for one in answer["dan"] if one[4] == ()]
        assert Counter(payload for _, payload, *_ in taken) == Counter(f"job {n}" for n in range(6))


def summed(got: list[tuple[str, str, int, bool, tuple[int, ...]]]) -> dict[Any, Any]:
    """Return the greatest quality and all identifiers of each message."""
    found: dict[Any, tuple[int, set[int]]] = {}
    for topic, payload, qos, retain, identifiers in got:
        most, known = found.get((topic, payload, retain), (0, set()))
        found[topic, payload, retain] = max(most, qos), known | {*identifiers}
    return found
