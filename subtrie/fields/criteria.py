# distutils: extra_compile_args = SMALL
"""Criteria: what a subscription asks of one field of a message.

    Equals OneOf            filed under the values that they name       (VALUES)
    Within and its kin      filed in an order of ranges (intervals.py)  (RANGES)
    Prefix                  filed there, too: as the range of the texts that begin so
    Present NotIn           filed under the field alone                 (ANY)
    Absent                  filed apart                                 (NONE)
    two Withins             filed together, as a box (boxes.py)         (BOXES)
    words of a topic        filed by their places (topics.py)           (TOPICS)
    others                  filed as one or more of these are           (LEADS)

`place` says where the index files a criterion, and `view` whether it files it by the values themselves or by what is
made of each text (texts.py). If a criterion `is_found_exactly`, it holds wherever the index finds it, without a second
look. More criteria are in texts.py and combined.py.

A criterion is a small object that never changes; two are equal if they ask the same of the same
field.

A range compares numbers with numbers, texts with texts, and so on; the *order* of a value says which of these it is.
Bounds may be of another type than those here: a user's own, say, or a datetime with a time zone of rules. Such a range
is compared as Python compares, and is filed under the field alone.
"""

# ruff: noqa: D102, SIM110 - the methods of criteria are those of Criterion, and are explained there; a generator takes
# longer than a loop

from __future__ import annotations

import cython

if not cython.compiled:
    from ctrie._machine import check_stack, untrack_constant
    from subtrie.fields.comparing import EQUAL, as_value, compared, is_among, is_equal_to_itself, is_up_to

from collections.abc import Hashable, Iterable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from numbers import Number, Real
from typing import Any

from subtrie.fields.events import Elements
from subtrie.fields.short import short

# Where the index files a criterion, cheapest to check first.
VALUES, RANGES, ANY, NONE, LEADS, BOXES, TOPICS = range(7)

# What the index files a criterion by: a value, or what texts.py makes of a text. ORIGINAL: the value itself.
ORIGINAL, REVERSED, FOLDED, FOLDED_REVERSED, PIECES, ADDRESSES = range(6)

# Orders. NOWHERE: the value is in no order; OTHER: as Python compares.
NUMBERS, TEXTS, BYTES, DATES, TIMES, UTC_TIMES, DURATIONS, OTHER, NOWHERE = range(9)

_ORDER_OF = {
    int: NUMBERS,
    float: NUMBERS,
    bool: NUMBERS,
    Decimal: NUMBERS,
    Fraction: NUMBERS,
    str: TEXTS,
    bytes: BYTES,
    date: DATES,
    timedelta: DURATIONS,
    complex: NOWHERE,
    type(None): NOWHERE,
}
_NUMERIC = (Real, Decimal)
_MISSING = object()

if not cython.compiled:  # the C bodies are in criteria.pxd

    def note_numbers(span: Within) -> None:
        """Write down the bounds as numbers. For the compiled twin."""

    def is_within_by_number(span: Within, value: Any) -> int:
        """Return whether a value is within the bounds, by numbers: 1 or 0. -1: they cannot tell, as always here."""
        return -1


_LAST_CHARACTER = 0x10FFFF


def order_of(value: Any) -> int:
    """Return the order that a value of a field belongs to. O(1)."""
    kind = type(value)
    if kind is int or kind is str:
        return TEXTS if kind is str else NUMBERS
    order: int = _ORDER_OF.get(kind, OTHER)
    if order == NUMBERS:
        return NUMBERS if is_equal_to_itself(value) else NOWHERE
    return order if order != OTHER else _order_of_kin(value)


def _order_of_kin(value: Any) -> int:
    """As `order_of`, for a value whose type is not listed there: of a subclass, perhaps."""
    if isinstance(value, datetime):
        return TIMES if datetime.tzinfo.__get__(value) is None else UTC_TIMES
    if isinstance(value, date):
        return DATES
    if isinstance(value, timedelta):
        return DURATIONS
    if isinstance(value, _NUMERIC):
        return NUMBERS if is_equal_to_itself(value) else NOWHERE
    return NOWHERE if isinstance(value, Number) else OTHER


def _order_of_bound(bound: Any) -> int:
    """As `order_of`, but OTHER for subclasses, and for times in zones of rules: two in the same one compare as if they
    had none. The tree must be able to trust it."""
    if type(bound) is datetime and type(bound.tzinfo) in (type(None), timezone):
        return order_of(bound)
    return _ORDER_OF.get(type(bound), OTHER)


def _is_named(value: Any) -> bool:
    """Return whether a value that a subscriber names is equal to itself. What its comparison raises reaches the
    subscriber, but for that of a signalling NaN, to which nothing is equal."""
    check_stack()  # a value may compare by making criteria of such values
    try:
        is_equal = bool(value == value)
    except ArithmeticError:
        is_equal = False
    return is_equal


def _checked_value(value: Any) -> Any:
    """Return a value as messages are asked for it. ValueError for one that nothing is equal to."""
    if not _is_named(as_value(value)):
        raise ValueError(f"nothing is equal to {short(value)}, not even itself")
    return as_value(value)


def check_hashable(name: object, value: Any) -> None:
    """Raise TypeError, with the field's name, for a value that has no hash."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"the value of field {short(name)} must be hashable, not {type(value).__name__}") from None


class Criterion:
    """Criterion()\n--\n
    What a subscription asks of the field `name`. Users make objects of its subclasses. `written` is how a pattern
    says it (patterns.py), None for one that was not read from a pattern."""

    __slots__ = ("name", "place", "view", "written")
    name: Any
    place: int
    view: int
    written: str | None

    if not cython.compiled:

        def __new__(cls, *_: object, **__: object) -> Any:
            self = object.__new__(cls)
            self.view, self.written = ORIGINAL, None
            return self

    def holds(self, value: Any) -> bool:
        """Return whether a value of the field satisfies this. O(1)."""
        raise NotImplementedError

    def met_by(self, message: dict[Any, Any]) -> bool:
        """Return whether a flat message satisfies this: it has the field, with such a value. Give it `flattened(event)`
        of an event with objects or lists, whose dotted fields are not there otherwise."""
        value = message.get(self.name, _MISSING)
        if type(value) is Elements:
            for element in value:
                if self.holds(element):
                    return True
            return False
        return value is not _MISSING and self.holds(value)

    def may_be_met_by(self, message: dict[Any, Any]) -> bool:
        """Return whether a message may satisfy this, if it meets other criteria, too: those say what belongs together
        (events.py)."""
        return self.met_by(message)

    def is_found_exactly(self) -> bool:
        """Return whether the index finds this only where it holds."""
        return True

    def is_taken_apart(self) -> bool:
        """Return whether values that belong together have to meet one of its alternatives (events.py), not itself."""
        return False

    def is_of_absence(self) -> bool:
        """Return whether this is met by messages without the field, and by no others."""
        return False

    def is_implied_by(self, access: Criterion) -> bool:
        """Return whether this holds for certain where the index finds something under `access`."""
        return access is self and self.is_found_exactly()

    def leads(self) -> tuple[tuple[Criterion, ...], ...]:
        """Return the ways to file this, if its place is LEADS: each is some criteria, one of which holds wherever this
        one does."""
        return ((self,),)

    def values_filed(self) -> Any:
        """Return the values that the index files this under, if its place is VALUES."""
        raise NotImplementedError

    def span(self) -> Within:
        """Return the range that the index files this under, if its place is RANGES."""
        raise NotImplementedError

    def arguments(self) -> tuple[Any, ...]:
        """Return what the criterion was made of."""
        return (self.name,)

    def identity(self) -> tuple[Any, ...]:
        """Return what two equal criteria have in common."""
        return (type(self).__name__, *self.arguments())

    def __eq__(self, other: object) -> bool:
        check_stack()  # as in __hash__
        return self is other or (isinstance(other, Criterion) and self.identity() == other.identity())

    def __hash__(self) -> int:
        check_stack()  # a value may be, or contain, another criterion, or this one
        try:
            return hash(self.identity())
        except TypeError as error:
            raise TypeError(f"{short(self)} cannot be looked up: {error}") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.arguments()))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.arguments()


def is_for_certain(message: dict[Any, Any], name: Any) -> bool:
    """Return whether a message has a field, whatever belongs together: not only in some elements of lists."""
    value = message.get(name, _MISSING)
    if type(value) is Elements and value.places is not None:
        return None in value.places
    return value is not _MISSING


def _checked_name(name: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"the name of a field is a str, not {type(name).__name__}")
    return plain(name)


class Equals(Criterion):
    """Equals(name, value)\n--\n
    The field has this value, or one equal to it: 1, 1.0 and True are.

    A value without a hash is refused when somebody subscribes.

    Raises:
        ValueError: For a value that nothing is equal to, such as NaN.

    >>> Equals("currency", "USD").holds("USD")
    True
    """

    __slots__ = ("value",)
    value: Any

    def __init__(self, name: str, value: Hashable) -> None:
        self.name = _checked_name(name)
        self.value = _checked_value(value)
        self.place = VALUES

    def holds(self, value: Any) -> bool:
        return compared(as_value(value), self.value, EQUAL) != 0

    def values_filed(self) -> Any:
        return (self.value,)

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.value


class Present(Criterion):
    """Present(name)\n--\n
    The field is there, whatever its value.

    >>> Present("urgent").holds(None)
    True
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self.name = _checked_name(name)
        self.place = ANY

    def holds(self, value: Any) -> bool:
        return True


class Absent(Criterion):
    """Absent(name)\n--\n
    The field is not there. No value of it satisfies this. In an event with lists, the other criteria of a
    subscription say where it is not: among what belongs together with the values that meet them.

    >>> Absent("cancelled").holds(None)
    False
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self.name = _checked_name(name)
        self.place = NONE

    def holds(self, value: Any) -> bool:
        return False

    def met_by(self, message: dict[Any, Any]) -> bool:
        return self.name not in message

    def may_be_met_by(self, message: dict[Any, Any]) -> bool:
        return self.name not in message or not is_for_certain(message, self.name)

    def is_of_absence(self) -> bool:
        return True


class OneOf(Criterion):
    """OneOf(name, values)\n--\n
    The field has one of these values. Without values, no message satisfies this.

    Raises:
        ValueError: For a value that nothing is equal to.
        TypeError: For a value without a hash.

    >>> OneOf("currency", ["USD", "EUR"]).holds("EUR")
    True
    """

    __slots__ = ("values",)
    values: frozenset[Any]

    def __init__(self, name: str, values: Iterable[Hashable]) -> None:
        self.name = _checked_name(name)
        self.values = _checked_values(name, values)
        self.place = VALUES

    def holds(self, value: Any) -> bool:
        return is_among(as_value(value), self.values) != 0

    def values_filed(self) -> Any:
        return self.values

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.values


class NotIn(Criterion):
    """NotIn(name, values)\n--\n
    The field is there, with none of these values.

    Raises as `OneOf`.

    >>> NotIn("state", ["closed"]).holds("open"), NotIn("state", ["closed"]).holds("closed")
    (True, False)
    """

    __slots__ = ("values",)
    values: frozenset[Any]

    def __init__(self, name: str, values: Iterable[Hashable]) -> None:
        self.name = _checked_name(name)
        self.values = _checked_values(name, values)
        self.place = ANY

    def holds(self, value: Any) -> bool:
        return is_among(as_value(value), self.values) == 0

    def is_found_exactly(self) -> bool:
        return False

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.values


def _checked_values(name: str, values: Iterable[Any]) -> frozenset[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"the values of field {short(name)} are several: give a list of them, not {short(values)}")
    check_stack()  # a value may be compared with others by making such values
    listed = []
    for value in values:
        check_hashable(name, as_value(value))
        listed.append(_checked_value(value))
    return frozenset(listed)


class Within(Criterion):
    """Within(name, low=None, high=None, low_open=False, high_open=False)\n--\n
    The field has a value from `low` to `high`; None leaves that side open. Without any bound it holds for each value
    that is there, as `Present` does.

    `Within(name, low=None, high=None, low_open=False, high_open=False)`: a bound is itself within, unless it is open. A
    value that does not compare with the bounds is not within them; numbers compare with numbers only, and texts with
    texts only.

    Raises:
        ValueError: No value can be within.

    >>> Within("price", 10, 20).holds(20), Within("price", low=10).holds("dear")
    (True, False)
    """

    __slots__ = ("high", "high_open", "low", "low_open", "order")
    low: Any
    high: Any
    low_open: bool
    high_open: bool
    order: int

    def __init__(
        self, name: str, low: Any = None, high: Any = None, low_open: bool = False, high_open: bool = False
    ) -> None:
        self.name = _checked_name(name)
        self._bound(low, high, bool(low_open), bool(high_open))

    def _bound(self, low: Any, high: Any, low_open: bool, high_open: bool) -> None:
        low, high = as_value(low), as_value(high)
        if low is not None and high is not None and not is_up_to(low, high, low_open or high_open):
            do_not = "" if is_up_to(high, low, False) else ", which do not compare"
            raise ValueError(
                f"nothing lies within {short(low)} and {short(high)}{', open' if low_open or high_open else do_not}"
            )
        for bound in (low, high):
            if bound is not None and (not _is_named(bound) or _order_of_bound(bound) == NOWHERE):
                raise ValueError(f"nothing lies within {short(low)} and {short(high)}")
        self.low = low
        self.high = high
        self.low_open = low_open and low is not None
        self.high_open = high_open and high is not None
        self.order = _common_order(low, high)
        self.place = RANGES if self.order < OTHER else ANY
        note_numbers(self)

    def holds(self, value: Any) -> bool:
        known = is_within_by_number(self, value)
        if known >= 0:
            return known == 1
        value = as_value(value)
        if self.order != OTHER and order_of(value) != self.order:
            return False
        if self.low is not None and not is_up_to(self.low, value, self.low_open):
            return False
        return self.high is None or is_up_to(value, self.high, self.high_open)

    def is_found_exactly(self) -> bool:
        return self.order != OTHER

    def span(self) -> Within:
        return self

    def arguments(self) -> tuple[Any, ...]:
        if self.low_open or self.high_open:
            return self.name, self.low, self.high, self.low_open, self.high_open
        return self.name, self.low, self.high

    def __repr__(self) -> str:
        if (self.low is None) == (self.high is None):
            return Criterion.__repr__(self)
        if self.low is None:
            return f"{'LessThan' if self.high_open else 'AtMost'}({self.name!r}, {self.high!r})"
        return f"{'GreaterThan' if self.low_open else 'AtLeast'}({self.name!r}, {self.low!r})"

    def identity(self) -> tuple[Any, ...]:
        # Bounds that are equal but of another order (a number, and one of a user's own type) ask for other values.
        return "Within", self.name, self.low, self.high, self.low_open, self.high_open, self.order


def _common_order(low: Any, high: Any) -> int:
    if low is None:
        return OTHER if high is None else _order_of_bound(high)
    order = _order_of_bound(low)
    return order if high is None or _order_of_bound(high) == order else OTHER


def LessThan(name: str, bound: Any) -> Within:
    """The field has a value below `bound`: a `Within` with one bound.

    >>> LessThan("price", 10).holds(9), LessThan("price", 10).holds(10)
    (True, False)
    """
    return Within(name, None, _given(name, bound), False, True)


def AtMost(name: str, bound: Any) -> Within:
    """The field has a value up to `bound`: a `Within` with one bound.

    >>> AtMost("price", 10).holds(10), AtMost("price", 10) == Within("price", high=10)
    (True, True)
    """
    return Within(name, None, _given(name, bound))


def GreaterThan(name: str, bound: Any) -> Within:
    """The field has a value above `bound`: a `Within` with one bound.

    >>> GreaterThan("price", 10).holds(10.5), GreaterThan("price", 10).holds(10)
    (True, False)
    """
    return Within(name, _given(name, bound), None, True)


def AtLeast(name: str, bound: Any) -> Within:
    """The field has a value from `bound` on: a `Within` with one bound.

    >>> AtLeast("price", 10).holds(10), AtLeast("price", 10) == Within("price", low=10)
    (True, True)
    """
    return Within(name, _given(name, bound))


def _given(name: str, bound: Any) -> Any:
    if bound is None:
        raise TypeError(f"a comparison with field {short(name)} needs a bound, not None; Present is for any value")
    return bound


class Spanned(Criterion):
    """A criterion that is filed under a range of what its view makes of the field."""

    __slots__ = ("_span",)
    _span: Any

    def span(self) -> Within:
        span: Within = self._span
        return span


class Prefix(Spanned):
    """Prefix(name, prefix, ignore_case=False)\n--\n
    The field has a text that begins with `prefix`, which is a str or bytes; with `ignore_case=True`, upper and lower
    case are the same, as in `EqualsIgnoringCase`.

    >>> Prefix("city", "New ").holds("New York"), Prefix("city", "New ").holds("Newark")
    (True, False)
    """

    __slots__ = ("ignore_case", "prefix")
    prefix: Any
    ignore_case: bool

    def __init__(self, name: str, prefix: str | bytes, ignore_case: bool = False) -> None:
        self.name = _checked_name(name)
        self.ignore_case = bool(ignore_case)
        if not isinstance(prefix, str) and (type(prefix) is not bytes or self.ignore_case):
            raise TypeError(f"a prefix is a str or bytes, not {type(prefix).__name__}")
        self.prefix = plain(prefix) if isinstance(prefix, str) else prefix
        self._span = texts_from(name, folded(self.prefix) if self.ignore_case else self.prefix)
        self.place = RANGES
        self.view = FOLDED if self.ignore_case else ORIGINAL

    def holds(self, value: Any) -> bool:
        value = as_value(value)
        if not isinstance(value, type(self.prefix)):
            return False
        return bool((folded(value) if self.ignore_case else value).startswith(self._span.low))

    def arguments(self) -> tuple[Any, ...]:
        return (self.name, self.prefix, True) if self.ignore_case else (self.name, self.prefix)


def texts_from(name: str, prefix: Any) -> Within:
    """Return the range of the texts that begin so."""
    span = Within(name, prefix, _after_prefix(prefix), False, True)
    untrack_constant(span)
    return span


def plain(text: str) -> str:
    """Return the characters of a text, which may be of a subclass that says something else (an `Enum`, say)."""
    return text if type(text) is str else str.__str__(text)


def folded(text: str) -> str:
    """Return a text in which upper and lower case are the same: each character folded, if that gives one character."""
    characters = plain(text)
    whole = characters.casefold()
    if len(whole) == len(characters):
        return whole
    return "".join([_folded_character(character) for character in characters])


def _folded_character(character: str) -> str:
    for one in (character.casefold(), character.lower()):
        if len(one) == 1:
            return one
    return character


def _after_prefix(prefix: str | bytes) -> Any:
    """Return the least text above all that begin with the prefix, None if there is no such text."""
    if isinstance(prefix, bytes):
        kept = prefix.rstrip(b"\xff")
        last = len(kept) - 1
        return kept[:last] + bytes((kept[last] + 1,)) if kept else None
    begins = prefix.rstrip(chr(_LAST_CHARACTER))
    last = len(begins) - 1
    return begins[:last] + chr(ord(begins[last]) + 1) if begins else None


class Key(Criterion):
    """What a view makes of the field, or one thing that it makes, is `value`: a piece of a text, perhaps. The index
    files other criteria under it; users do not see it."""

    __slots__ = ("value",)
    value: Any

    def __init__(self, name: Any, value: Any, view: int = ORIGINAL) -> None:
        self.name = name
        self.value = value
        self.place = VALUES
        self.view = view

    def holds(self, value: Any) -> bool:
        raise AssertionError("nobody asks this: what is filed under it is asked for itself")

    def values_filed(self) -> Any:
        return (self.value,)

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.value, self.view
