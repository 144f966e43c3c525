# distutils: extra_compile_args = SMALL
"""What an entry needs of a message, in 64 bits.

Most entries that a search finds under one criterion fail at another one. To ask that one is to read it and its value,
in memory that is in no cache. So an entry has a bit for each field that its other criteria need, and for each value. A
search gathers the bits of what the message has. If an entry has a bit that the message lacks, nobody wants the message
for it, and nothing more of it is read. It is a Bloom filter: an entry that passes still has to be asked.

Many patterns with `*` have one piece of a text in common that has others, too. So an entry that is found by a piece has
a bit for each of all pieces of its pattern, in 32 bits more, and a search gathers those of the texts that it takes to
pieces.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._nodes import mix
    from subtrie.fields.boxes import Box
    from subtrie.fields.criteria import PIECES, Criterion, Key
    from subtrie.fields.texts import LONGEST_PIECE, Wildcard
    from subtrie.fields.topics import Topic

from subtrie.fields.combined import Not
from subtrie.fields.criteria import Equals, NotIn, OneOf, Prefix, Present, Within
from subtrie.fields.texts import EqualsIgnoringCase, InNetwork, Suffix

_NEED_THEIR_FIELD = frozenset(  # a user's subclass may hold for what it likes
    (Equals, OneOf, NotIn, Present, Within, Not, Prefix, Suffix, Wildcard, EqualsIgnoringCase, InNetwork)
)

if not cython.compiled:  # the compiled ones are in needs.pxd

    def bit_of_field(name_hash: int) -> int:
        """Return the bit of a field, of which the mixed hash of the name is given."""
        return 1 << (name_hash & 63)

    def bit_of_value(name_hash: int, value_hash: int) -> int:
        """Return the bit of a value of a field."""
        return 1 << ((name_hash ^ value_hash) >> 58)

    def bit_of_piece(piece_hash: int) -> int:
        """Return the bit of a piece of a text, one of the longest."""
        return 1 << (piece_hash >> 59)


def needs_of(rest: Any) -> int:
    """Return the bits of what remains to be asked of an entry (`Filed`)."""
    if rest is None:
        return 0
    if not isinstance(rest, tuple):
        return _bits_of(rest)
    needs = 0
    for criterion in rest:
        needs |= _bits_of(criterion)
    return needs


def _bits_of(criterion: Criterion) -> int:
    if isinstance(criterion, Topic):
        topic: Topic = criterion
        return topic.needs()
    if isinstance(criterion, Box):
        return _bits_of(criterion.one) | _bits_of(criterion.other)
    if type(criterion) not in _NEED_THEIR_FIELD:
        return 0
    name_hash = mix(hash(criterion.name))
    if type(criterion) is not Equals:
        return bit_of_field(name_hash)
    return bit_of_field(name_hash) | bit_of_value(name_hash, mix(hash(criterion.value)))


def pieces_needed(access: Any, rest: Any) -> int:
    """Return the bits of the pieces that a text of a field has which meets what remains to be asked of an entry, if it
    is filed under a piece of that text."""
    if type(access) is not Key or access.view != PIECES:
        return 0
    bits = 0
    for asked in rest if type(rest) is tuple else (rest,):
        if type(asked) is not Wildcard or asked.name is not access.name:  # its own pattern, at least
            continue
        pattern: Wildcard = asked
        for part in pattern.parts:
            for i in range(len(part) - LONGEST_PIECE + 1):
                bits |= bit_of_piece(mix(hash(part[i : i + LONGEST_PIECE])))
    return bits
