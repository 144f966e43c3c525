"""What a search works with (search.py): a message, the entries noted, and views of what it passes.

This is the interpreted text. In the compiled twin (`views.pxd`) what is noted are pointers in a buffer, and nothing
that is passed is counted.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from subtrie._trie.match.walk import Buffer
from subtrie.fields.boxes import bracket_of
from subtrie.fields.comparing import EQUAL, compared
from subtrie.fields.criteria import is_for_certain
from subtrie.fields.needs import bit_of_field, bit_of_piece, bit_of_value
from subtrie.fields.topics import Topic, topic_holds
from subtrie.fields.words import Words

AHEAD = 4  # how many entries ahead of the one that is asked a search asks for memory
WAY = 3  # what is noted of a way: the next node, the hash it follows, and what it looks for
ORDERS = 7  # of the orders of values, each of these has a tree


class Search:
    """A message with its bits (needs.py), the entries noted, and the nodes that are to be looked at: of trees, and on
    ways through maps.

    The compiled one works with the caller's own dict as long as it has plain values, whose hashes call nothing of
    users: it holds what it has noted, and makes a copy when a criterion is first asked, if one is. Such values are
    hashed where that is needed."""

    __slots__ = (
        "crowds", "delivers", "has", "message", "nodes", "noted", "pieces", "repeated", "together", "values", "words"
    )  # fmt: skip
    words: Words | None  # those of its topic, if it has one
    message: dict[Any, Any]
    has: int
    pieces: int  # the bits of the pieces of its texts, if any are taken to pieces
    noted: Buffer
    nodes: Buffer
    crowds: Buffer  # crowded places, which are to be searched
    values: list[tuple[Any, int, Any, int]]  # those of the message: the name, its hash, a value, its hash
    repeated: bool  # whether an entry may be noted several times
    delivers: bool  # whether deliveries are asked for, and not subscribers
    together: bool  # whether values of several fields may belong together, or not


class Seen:
    """The objects that have come by."""

    __slots__ = ("numbers",)
    numbers: set[int]


def begin(search: Search, message: dict[Any, Any], words: Any, delivers: bool) -> None:
    """Begin a search for a message, with the words of its topic, if it has one."""
    search.words, search.delivers = words, delivers
    search.message, search.has, search.pieces = message, 0, 0
    search.noted, search.nodes, search.crowds = Buffer(), Buffer(), Buffer()
    search.repeated = search.together = False
    search.values = []


def start_over(search: Search, message: dict[Any, Any]) -> None:
    """Begin again, for another message."""
    search.message, search.has = message, 0
    search.values.clear()


def note_plain(search: Search, names: Any) -> bool:
    """Note names and values of the caller's message, if all of these are plain, or lists and objects in which nobody
    asks for anything. For the compiled twin."""
    return False


def note_value(search: Search, name: Any, name_hash: int, value: Any, value_hash: int) -> None:
    """Note a value of the message. Raises MemoryError."""
    search.has |= bit_of_field(name_hash) | bit_of_value(name_hash, value_hash)
    search.values.append((name, name_hash, value, value_hash))


def values_known(search: Search) -> int:
    """Return how many values are noted."""
    return len(search.values)


def name_at(search: Search, i: int) -> Any:
    """Return the name of a value that is noted."""
    return search.values[i][0]


def name_hash_at(search: Search, i: int) -> int:
    """Return the mixed hash of its name."""
    return search.values[i][1]


def value_at(search: Search, i: int) -> Any:
    """Return the value."""
    return search.values[i][2]


def value_hash_at(search: Search, i: int) -> int:
    """Return the value's mixed hash."""
    return search.values[i][3]


def is_first_of_name(search: Search, i: int) -> bool:
    """Return whether a value is the first that is noted of its field."""
    return i == 0 or search.values[i - 1][0] != search.values[i][0]


def whole_value(search: Search, i: int) -> Any:
    """Return all that the message has in the field of a value that is noted: the value, or `Elements`."""
    return search.message[search.values[i][0]]


def all_bits(search: Search) -> int:
    """Return the bits of all that the message has."""
    return search.has


def end(search: Search) -> None:
    """Release what a search has taken. For the compiled twin."""


def note(search: Search, entry: Any) -> None:
    """Note an entry. Raises MemoryError."""
    search.noted.items.append(entry)


def forget_nodes(search: Search, first: int) -> None:
    """Forget the nodes from here on, which have been looked at."""
    del search.nodes.items[first:]


def note_node(search: Search, node: Any) -> None:
    """Note a node that is to be looked at. Raises MemoryError."""
    search.nodes.items.append(node)


def note_way(search: Search, cells: Any, hash: int, number: int) -> None:
    """Note that a map is to be followed by a hash: of the value noted at `number`, or, if that is negative, of the
    words at the place -1 - `number` of the topic. Raises MemoryError."""
    search.nodes.items += (cells, hash, number)


def node_at(search: Search, at: int) -> Any:
    """Return where a way is."""
    return search.nodes.items[at]


def hash_at(search: Search, at: int) -> Any:
    """Return the hash that a way follows."""
    return search.nodes.items[at + 1]


def number_at(search: Search, at: int) -> Any:
    """Return what a way looks for."""
    return search.nodes.items[at + 2]


def go_on(search: Search, at: int, node: Any) -> None:
    """Take a way to the next node."""
    search.nodes.items[at] = node


words_of = attrgetter("words")


def has_topic(search: Search) -> bool:
    """Return whether the message has a topic."""
    return search.words is not None


def note_bits(search: Search, bits: int) -> None:
    """Note that the message has what these bits stand for."""
    search.has |= bits


def note_piece(search: Search, piece_hash: int) -> None:
    """Note that a text has a piece with this hash."""
    search.pieces |= bit_of_piece(piece_hash)


def has_pieces(search: Search, entry: Any) -> bool:
    """Return whether the texts that were taken to pieces have those that an entry needs."""
    return not entry.pieces & ~search.pieces


def keep(search: Search, count: int) -> None:
    """Forget all but the first entries noted."""
    del search.noted.items[count:]


def note_crowd(search: Search, crowd: Any) -> int:
    """Note a crowded place. Raises MemoryError."""
    search.crowds.items.append(crowd)
    return 0


def keep_crowds(search: Search, count: int) -> None:
    """Forget all but the first crowded places noted."""
    del search.crowds.items[count:]


def answer_of(search: Search, entry: Any) -> Any:
    """Return what is asked for of an entry: its subscriber, or its delivery."""
    return entry.delivery if search.delivers else entry.key


def may_refer(search: Search) -> bool:
    """Return whether there are entries noted, which may have references to their subscribers."""
    return search.noted.count > 0


def answers_noted(search: Search) -> tuple[Any, ...]:
    """Return what is asked for of the entries noted."""
    return tuple([answer_of(search, entry) for entry in search.noted.items])


def has_field(search: Search, name: Any) -> bool:
    """Return whether the message has a field; if it lies in lists, one that belongs to everything."""
    return is_for_certain(search.message, name) if search.together else name in search.message


def is_met(search: Search, criterion: Any) -> bool:
    """Return whether the message satisfies a criterion."""
    if type(criterion) is Topic:
        return topic_holds(criterion, search.words)
    return bool(criterion.met_by(search.message))


def see(seen: Seen, most: int) -> None:
    """Begin to look at objects, so many at most. Raises MemoryError."""
    seen.numbers = set()


def is_new(seen: Seen, thing: Any) -> bool:
    """Return whether an object comes by for the first time."""
    before = len(seen.numbers)
    seen.numbers.add(id(thing))
    return len(seen.numbers) > before


def unsee(seen: Seen) -> None:
    """Release what it took to look. For the compiled twin."""


class Spot:
    """Where a message lies: on each of two fields from a number to a number. If the two are the same, `is_exact`."""

    __slots__ = ("high", "is_exact", "low", "other_high", "other_low")
    low: float
    high: float
    other_low: float
    other_high: float
    is_exact: bool


def spot_on(spot: Any, value: Any, other: Any) -> bool:
    """Say where a message lies that has these values; False if no range holds for one of them."""
    one, second = bracket_of(value), bracket_of(other)
    if one is None or second is None:
        return False
    (spot.low, spot.high), (spot.other_low, spot.other_high) = one, second
    spot.is_exact = one[0] == one[1] and second[0] == second[1]
    return True


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two objects are equal; users' code may run."""
    return compared(one, other, EQUAL)


def few_in(cell: Any) -> int:
    """Return how many entries a cell has written down, 0 if they are to be looked for, as always here."""
    return 0


def few_at(cell: Any, i: int) -> Any:
    """Return one of them."""
    raise AssertionError("a cell of this twin has none")


id_of = id
value_of = attrgetter("value")
needs_in = attrgetter("needs")
rest_of = attrgetter("rest")
is_repeated = attrgetter("is_repeated")
is_joint = attrgetter("is_joint")
boxes_of = attrgetter("boxes")
views_of = attrgetter("views")
fields_of = attrgetter("fields")
absent_of = attrgetter("absent")
topics_of = attrgetter("topics")
whole_of = attrgetter("whole")
values_of = attrgetter("values")
ranges_of = attrgetter("ranges")
any_of = attrgetter("any")


def prefetch(thing: Any) -> None:
    """Have an object fetched into the processor's caches. For the compiled twin."""
