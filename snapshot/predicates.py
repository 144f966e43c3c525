"""Criteria on fields (`subtrie.fields`) as predicates on the columns of a data frame, evaluated by Spark alone.

A row is a message whose fields are the columns that are not null. A criterion holds of a column if `Criterion.holds`
says so of the value in Python. So numbers are compared exactly, whatever their types (Spark would compare a bigint with
a double as doubles); a number never equals a text; and nothing compares with NaN. Texts in any case are folded
character by character, as Python folds them. Spark's own `lower` does it otherwise.
"""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import math
import operator
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.sparks import in_binary
from subtrie.fields.criteria import folded

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MOST_DIGITS = 38
"""How many digits Spark's decimals have, at most."""


def field_predicate(frame: DataFrame, criteria: Iterable[Any], *, any: bool = False) -> Column:
    """Whether a row satisfies criteria, by the rules of `subtrie.fields.FieldMatcher`.

    Args:
        frame: the data frame; a criterion's field is the column of exactly that name, or what a column of type struct
            has under the rest of the name: ``detail.state``.
        criteria: criteria of `subtrie.fields`, of an event router's pattern too, say (`subtrie.fields.from_pattern`).
        any: True if one criterion is enough (``match_any``), False if all have to hold (``match_all``).

    Returns:
        A boolean column that is never null, for ``where`` and anything else that takes columns.

    Raises:
        ValueError: there are no criteria, or a column is missing.
        TypeError: a criterion has no predicate, the column's type has no comparison, or the field lies in an array or a
            map.

    ``frame.where(field_predicate(frame, [Within("price", low=10), Equals("currency", "EUR")]))``
    """
    functions = extra("pyspark.sql.functions")
    predicates = [_predicate(frame, criterion) for criterion in criteria]
    if not predicates:
        raise ValueError("there are no criteria")
    found = predicates[0]
    for predicate in predicates[1:]:
        found = found | predicate if any else found & predicate
    return functions.coalesce(found, functions.lit(False))  # type: ignore[no-any-return]


def _predicate(frame: DataFrame, criterion: Any) -> Column:
    if _is(criterion, "AnyOf"):
        ways = [reduce(operator.and_, [_predicate(frame, one) for one in way]) for way in criterion.alternatives]
        return reduce(operator.or_, ways)
    if _is(criterion, "Not"):
        return _Field(frame, criterion.name).is_there() & ~_predicate(frame, criterion.criterion)
    for kind in type(criterion).__mro__:
        make = _PREDICATES.get(kind.__name__)
        if make is not None and kind.__module__.startswith("subtrie.fields"):
            column = _Field(frame, criterion.name)
            found = make(column, criterion)
            return extra("pyspark.sql.functions").coalesce(found, extra("pyspark.sql.functions").lit(False))  # type: ignore[no-any-return]
    raise TypeError(f"a criterion must be one of subtrie.fields that Spark can evaluate, not {criterion!r}")


def _is(criterion: Any, name: str) -> bool:
    """Whether this is the criterion of `subtrie.fields` with this name."""
    kinds = type(criterion).__mro__
    return any(kind.__name__ == name and kind.__module__.startswith("subtrie.fields") for kind in kinds)


def _found_in(frame: DataFrame, name: str) -> tuple[Column, Any] | None:
    """The column of a field, or what a struct has under the rest of its name, and its type; None if there is none."""
    for field in frame.schema.fields:
        if field.name == name:
            return frame[_quoted(name)], field.dataType
    for field in frame.schema.fields:
        found = _found_below(frame[_quoted(field.name)], field, name) if name.startswith(f"{field.name}.") else None
        if found is not None:
            return found
    return None


def _found_below(column: Column, parent: Any, name: str) -> tuple[Column, Any] | None:
    types, rest = extra("pyspark.sql.types"), name[len(parent.name) + 1 :]
    if isinstance(parent.dataType, types.ArrayType | types.MapType):
        kind = parent.dataType.simpleString()
        raise TypeError(f"field {name!r} is below {parent.name!r} of type {kind}, which Spark alone cannot look into")
    if not isinstance(parent.dataType, types.StructType):
        return None
    for field in parent.dataType.fields:
        inner = column.getField(field.name)
        if field.name == rest:
            return inner, field.dataType
        found = _found_below(inner, field, rest) if rest.startswith(f"{field.name}.") else None
        if found is not None:
            return found
    return None


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


class _Field:
    """A column, with comparisons that have Python's meaning."""

    def __init__(self, frame: DataFrame, name: Any) -> None:
        found = _found_in(frame, name)
        if found is None:
            raise ValueError(f"the data frame has no column {name!r}, only {frame.columns}")
        self.name = name
        self.column, self.kind = found

    def is_text(self) -> bool:
        return isinstance(self.kind, extra("pyspark.sql.types").StringType)

    def is_there(self) -> Column:
        return self.column.isNotNull()

    def compares(self, sign: str, value: Any) -> Column | None:
        """The comparison as a column; None if no value of the column's type compares with ``value``."""
        types = extra("pyspark.sql.types")
        if isinstance(self.kind, types.BooleanType | types.IntegralType | types.DecimalType):
            return self._on_grid(sign, value)
        if isinstance(self.kind, types.FractionalType):
            return self._as_double(sign, value)
        if isinstance(self.kind, types.StringType):
            return _OPERATORS[sign](self._text(), self._literal(value)) if _is_text(value) else None
        if isinstance(self.kind, types.BinaryType):
            return _OPERATORS[sign](self.column, self._literal(value)) if type(value) is bytes else None
        if isinstance(self.kind, types.DateType):
            return _OPERATORS[sign](self.column, self._literal(value)) if type(value) is datetime.date else None
        if isinstance(self.kind, types.TimestampType | types.TimestampNTZType):
            return self._at_time(sign, value)
        raise TypeError(f"column {self.name!r} is of type {self.kind.simpleString()}, whose values do not compare")

    def _text(self) -> Column:
        return in_binary(self.column)

    def _folded(self) -> Column:
        """The text with upper and lower case made the same."""
        return extra("pyspark.sql.functions").translate(self._text(), *_folds())  # type: ignore[no-any-return]

    def _literal(self, value: Any) -> Column:
        return extra("pyspark.sql.functions").lit(value)  # type: ignore[no-any-return]

    def _at_time(self, sign: str, value: Any) -> Column | None:
        types = extra("pyspark.sql.types")
        if not isinstance(value, datetime.datetime):
            return None
        if isinstance(self.kind, types.TimestampNTZType):
            if value.tzinfo is not None:
                return None
            literal = self._literal(value.isoformat(" ")).cast("timestamp_ntz")
            return _OPERATORS[sign](self.column, literal)
        return _OPERATORS[sign](self.column, self._literal(value))

    def _as_double(self, sign: str, value: Any) -> Column | None:
        number = _number(value)
        if number is None:
            return None
        functions, column = extra("pyspark.sql.functions"), self.column.cast("double")
        is_number: Column = ~functions.isnan(column)
        try:
            nearest = float(number)
        except OverflowError:
            nearest = math.inf if number > 0 else -math.inf
        if isinstance(number, Fraction) and (math.isinf(nearest) or Fraction(nearest) != number):
            if sign == "==":
                return None
            # `number` lies between two doubles. Whether `nearest` itself satisfies the bound depends on its side.
            low = nearest < number
            sign = {">": ">" if low else ">=", "<": "<=" if low else "<"}[sign[0]]
        return is_number & _OPERATORS[sign](column, functions.lit(nearest))

    def _on_grid(self, sign: str, value: Any) -> Column | None:
        """Compare numbers that are multiples of a power of ten: turn the bound into a bound of the multiples."""
        number = _number(value)
        if number is None:
            return None
        scale = getattr(self.kind, "scale", 0)
        if not isinstance(number, Fraction):
            return self._always((number > 0) == (sign[0] == "<")) if sign != "==" else None
        multiple = number * 10**scale
        if sign == "==":
            if multiple.denominator != 1:
                return None
            bound = int(multiple)
        elif sign[0] == ">":
            bound = math.ceil(multiple) if sign == ">=" else math.floor(multiple) + 1
        else:
            bound = math.floor(multiple) if sign == "<=" else math.ceil(multiple) - 1
        if abs(bound) >= 10**_MOST_DIGITS:
            return None if sign == "==" else self._always((bound > 0) == (sign[0] == "<"))
        types = extra("pyspark.sql.types")
        column = self.column.cast("int") if isinstance(self.kind, types.BooleanType) else self.column
        with decimal.localcontext(prec=_MOST_DIGITS):
            text = str(decimal.Decimal(bound).scaleb(-scale)) if scale else str(bound)
        literal = self._literal(text).cast(f"decimal({_MOST_DIGITS},{scale})")
        if scale == 0 and -(2**63) <= bound < 2**63:
            literal = self._literal(bound)
        return _OPERATORS[{">": ">=", "<": "<=", "=": "=="}[sign[0]]](column, literal)

    def _always(self, truth: bool) -> Column:
        return self._literal(truth) & self.is_there()


_OPERATORS: dict[str, Callable[[Any, Any], Column]] = {
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


def _is_text(value: Any) -> bool:
    """Whether ``value`` is a text that Spark can hold."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _number(value: Any) -> Fraction | float | None:
    """A finite number exactly, an infinite one as a float; None for anything else, and for NaN."""
    if not isinstance(value, int | float | decimal.Decimal | Fraction) or value != value:
        return None
    if isinstance(value, float | decimal.Decimal) and math.isinf(value):
        return math.inf if value > 0 else -math.inf
    return Fraction(value)


def _equals(field: _Field, criterion: Any) -> Any:
    return _or_false(field.compares("==", criterion.value))


def _one_of(field: _Field, criterion: Any) -> Any:
    found = _or_false(None)
    for value in criterion.values:
        found = found | _or_false(field.compares("==", value))
    return found


def _within(field: _Field, criterion: Any) -> Any:
    found: Any = field.is_there()
    for bound, is_open, sign in (
        (criterion.low, getattr(criterion, "low_open", False), ">"),
        (criterion.high, getattr(criterion, "high_open", False), "<"),
    ):
        if bound is not None:
            found = found & _or_false(field.compares(sign if is_open else f"{sign}=", bound))
    return found


def _prefix(field: _Field, criterion: Any) -> Any:
    types, functions = extra("pyspark.sql.types"), extra("pyspark.sql.functions")
    is_text = isinstance(criterion.prefix, str)
    wanted = types.StringType if is_text else types.BinaryType
    if not isinstance(field.kind, wanted) or (is_text and not _is_text(criterion.prefix)):
        return _or_false(None)
    column = field._text() if is_text else field.column
    if criterion.ignore_case:
        return functions.startswith(field._folded(), functions.lit(folded(criterion.prefix)))
    return functions.startswith(column, functions.lit(criterion.prefix))


def _suffix(field: _Field, criterion: Any) -> Any:
    functions = extra("pyspark.sql.functions")
    if not field.is_text() or not _is_text(criterion.suffix):
        return _or_false(None)
    if criterion.ignore_case:
        return functions.endswith(field._folded(), functions.lit(folded(criterion.suffix)))
    return functions.endswith(field._text(), functions.lit(criterion.suffix))


def _ignoring_case(field: _Field, criterion: Any) -> Any:
    if not field.is_text() or not _is_text(criterion.text):
        return _or_false(None)
    return field._folded() == extra("pyspark.sql.functions").lit(folded(criterion.text))


def _wildcard(field: _Field, criterion: Any) -> Any:
    """A LIKE of Spark, in which a backslash takes the meaning of `%`, `_` and itself away."""
    if not field.is_text() or not _is_text(criterion.pattern):
        return _or_false(None)
    parts = [part.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") for part in criterion.parts]
    return field._text().like("%".join(parts))


_OCTET = "(0|[1-9][0-9]{0,2})"
_QUAD = rf"{_OCTET}(\.{_OCTET}){{3}}"
_HEXTETS = "([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*)?"


def _in_network(field: _Field, criterion: Any) -> Any:
    """Addresses as Python reads them: of version 4, four numbers up to 255 without leading zeros."""
    if not field.is_text():
        return _or_false(None)
    functions, text = extra("pyspark.sql.functions"), field._text()
    known = ipaddress.ip_network(criterion.network, strict=False)
    if known.version == 6:
        return _in_network_6(text, known)
    low, high = int(known.network_address), int(known.broadcast_address)
    octets = _octets(text)
    number = reduce(lambda total, one: total * 256 + one, octets)
    fits = reduce(operator.and_, [one < 256 for one in octets])
    is_address = text.rlike(rf"\A{_QUAD}\z")
    return functions.when(is_address, fits & (number >= low) & (number <= high)).otherwise(False)


def _octets(text: Any) -> list[Any]:
    functions = extra("pyspark.sql.functions")
    parts = functions.split(text, r"\.")
    return [functions.get(parts, functions.lit(i)).cast("bigint") for i in range(4)]


def _in_network_6(text: Any, known: ipaddress.IPv6Network) -> Any:
    """Up to eight hextets; `::` once, for one zero or more; the last two perhaps as an address of version 4. Numbers of
    128 bits are compared as their 32 digits."""
    functions = extra("pyspark.sql.functions")
    quad = functions.regexp_extract(text, rf":({_QUAD})\z", 1)  # "": there is none
    octets = _octets(quad)
    fits = reduce(operator.and_, [one < 256 for one in octets])
    pair = functions.concat_ws(":", *[functions.hex(octets[i] * 256 + octets[i + 1]) for i in (0, 2)])
    before = functions.substring_index(text, ":", -1)  # what the quad stands for, if there is one
    kept = text.substr(functions.lit(1), functions.length(text) - functions.length(before))
    whole = functions.when(quad == "", text).when(fits, functions.concat(kept, pair)).otherwise("")
    halves = functions.split(whole, "::")
    sides = []
    for i in range(2):
        side = functions.coalesce(functions.get(halves, functions.lit(i)), functions.lit(""))
        sides.append(functions.filter(functions.split(side, ":"), lambda one: one != ""))
    count = functions.size(sides[0]) + functions.size(sides[1])
    fits = functions.when(functions.size(halves) == 2, count < 8).otherwise(count == 8)
    zeros = functions.array_repeat(functions.lit("0"), functions.greatest(8 - count, functions.lit(0)))
    hextets = functions.concat(sides[0], zeros, sides[1])
    digits = functions.array_join(
        functions.transform(hextets, lambda one: functions.lpad(functions.lower(one), 4, "0")), ""
    )
    low, high = (f"{int(one):032x}" for one in (known.network_address, known.broadcast_address))
    is_address = whole.rlike(rf"\A{_HEXTETS}(::{_HEXTETS})?\z")
    return functions.when(is_address, fits & (digits >= low) & (digits <= high)).otherwise(False)


@cache
def _folds() -> tuple[str, str]:
    """All characters that folding changes, and what it makes of them."""
    pairs = [(character, folded(character)) for character in map(chr, range(sys.maxunicode + 1))]
    changed = [(one, other) for one, other in pairs if one != other]
    return "".join(one for one, _ in changed), "".join(other for _, other in changed)


def _or_false(column: Any) -> Any:
    return extra("pyspark.sql.functions").lit(False) if column is None else column


_PREDICATES: dict[str, Callable[[_Field, Any], Any]] = {
    "Absent": lambda field, criterion: ~field.is_there(),
    "Equals": _equals,
    "EqualsIgnoringCase": _ignoring_case,
    "InNetwork": _in_network,
    "NotIn": lambda field, criterion: field.is_there() & ~_one_of(field, criterion),
    "OneOf": _one_of,
    "Prefix": _prefix,
    "Present": lambda field, criterion: field.is_there(),
    "Suffix": _suffix,
    "Wildcard": _wildcard,
    "Within": _within,
}
"""The predicate of a criterion, by the name of its class."""
