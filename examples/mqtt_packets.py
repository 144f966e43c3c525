"""The packets of MQTT 3.1.1 and 5 as bytes: what `mqtt_broker.py` reads and writes.

Nothing here knows topics.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = range(1, 8)
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT = range(8, 15)
V5 = 5
LONGEST_PACKET = 1 << 20  # bytes

# Reason codes.
NO_MATCH, NOT_SUBSCRIBED, UNSPECIFIED, MALFORMED, PROTOCOL, VERSION = (
    0x10,
    0x11,
    0x80,
    0x81,
    0x82,
    0x84,
)
KEEP_ALIVE, TAKEN_OVER, BAD_FILTER, BAD_TOPIC, NOT_FOUND = 0x8D, 0x8E, 0x8F, 0x90, 0x92
TOO_MANY, BAD_ALIAS, TOO_LARGE, QUOTA = 0x93, 0x94, 0x95, 0x97

# The properties of MQTT 5 by type: a byte, two, four, a number of variable length, a
# text, bytes, a pair of texts.
BYTES = {0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A}
SHORTS, LONGS, NUMBERS = {0x13, 0x21, 0x22, 0x23}, {0x02, 0x11, 0x18, 0x27}, {0x0B}
TEXTS, BINARY, PAIRS = {0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F}, {0x09, 0x16}, {0x26}
MESSAGE_EXPIRY, SUBSCRIPTION_IDENTIFIER, SESSION_EXPIRY, ASSIGNED_CLIENT = (
    0x02,
    0x0B,
    0x11,
    0x12,
)
SERVER_KEEP_ALIVE, WILL_DELAY, RECEIVE_MAXIMUM = 0x13, 0x18, 0x21
TOPIC_ALIAS_MAXIMUM, TOPIC_ALIAS, MAXIMUM_PACKET = 0x22, 0x23, 0x27
# properties of a message that its receivers get as they are
FORWARDED = {0x01, 0x03, 0x08, 0x09, 0x26}
REPEATED = {0x26, SUBSCRIPTION_IDENTIFIER}  # properties that may come more than once
NOT_ZERO = {RECEIVE_MAXIMUM, MAXIMUM_PACKET, SUBSCRIPTION_IDENTIFIER}

Properties = tuple[tuple[int, Any], ...]


class Refused(Exception):
    """The client breaks the rules of MQTT, or asks for too much.

    The broker sends it the code `reason`.
    """

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Reader:
    """The part of a packet that is still to be read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise Refused(MALFORMED, "the packet ends too early")
        taken, self._at = self._data[self._at : end], end
        return taken

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        return int.from_bytes(self.take(2))

    def identifier(self) -> int:
        if not (found := self.short()):
            raise Refused(PROTOCOL, "the identifier of a packet is 0")
        return found

    def binary(self) -> bytes:
        return self.take(self.short())

    def text(self) -> str:
        try:
            return self.binary().decode()
        except UnicodeDecodeError:
            raise Refused(MALFORMED, "a text is not UTF-8") from None

    def number(self) -> int:
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Refused(MALFORMED, "a number of variable length is too long")

    def properties(self) -> Properties:
        block = Reader(self.take(self.number()))
        found: list[tuple[int, Any]] = []
        while block:
            kind = block.number()
            value = block._value(kind)
            if kind not in REPEATED and any(kind == other for other, _ in found):
                raise Refused(PROTOCOL, f"the property {kind:#x} comes twice")
            if kind in NOT_ZERO and not value:
                raise Refused(PROTOCOL, f"the property {kind:#x} is 0")
            found.append((kind, value))
        return tuple(found)

    def _value(self, kind: int) -> Any:
        for kinds, read in (
            (BYTES, self.byte),
            (SHORTS, self.short),
            (LONGS, lambda: int.from_bytes(self.take(4))),
            (NUMBERS, self.number),
            (TEXTS, self.text),
            (BINARY, self.binary),
            (PAIRS, lambda: (self.text(), self.text())),
        ):
            if kind in kinds:
                return read()
        raise Refused(MALFORMED, f"there is no property {kind:#x}")


def number(value: int) -> bytes:
    """Return a number of variable length."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def short(value: int) -> bytes:
    """Return two bytes."""
    return struct.pack(">H", value)


def text(value: str) -> bytes:
    """Return a text after its length."""
    encoded = value.encode()
    return short(len(encoded)) + encoded


def properties(found: Properties) -> bytes:
    """Return properties after their length."""
    out = b""
    for kind, value in found:
        out += number(kind)
        if kind in PAIRS:
            out += text(value[0]) + text(value[1])
        elif kind in TEXTS:
            out += text(value)
        elif kind in BINARY:
            out += short(len(value)) + value
        elif kind in NUMBERS:
            out += number(value)
        else:
            out += value.to_bytes(1 if kind in BYTES else 2 if kind in SHORTS else 4)
    return number(len(out)) + out


def packet(kind: int, body: bytes, flags: int = 0) -> bytes:
    """Return a packet."""
    return bytes([kind << 4 | flags]) + number(len(body)) + body


async def read_packet(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Return kind, flags and body of the next packet."""
    first = (await reader.readexactly(1))[0]
    size = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
        if shift > 21:
            raise Refused(MALFORMED, "a packet's length is too long")
    if size > LONGEST_PACKET:
        raise Refused(TOO_LARGE, f"a packet of {size:,} bytes")
    return first >> 4, first & 15, await reader.readexactly(size)
