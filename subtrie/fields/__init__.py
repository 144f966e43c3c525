"""Content-based routing: subscriptions by what the fields of a message hold.

`FieldMatcher` finds the subscriptions that a message meets by its fields, `RoutingMatcher` by topic and fields. What a
subscription asks of one field is a criterion: `Equals`, `OneOf`, `NotIn`, `Present`, `Absent`, `Within`, `LessThan`,
`AtMost`, `GreaterThan`, `AtLeast`, `Prefix`. `from_pattern` and `to_pattern` read and write them as the JSON patterns
of event routers.
"""

import ctrie  # noqa: F401  first: it chooses the twin
from subtrie.fields.criteria import (
    Absent,
    AtLeast,
    AtMost,
    Criterion,
    Equals,
    GreaterThan,
    LessThan,
    NotIn,
    OneOf,
    Prefix,
    Present,
    Within,
)
from subtrie.fields.matcher import FieldChange, FieldDelivery, FieldMatcher, FieldSubscription, Message
from subtrie.fields.patterns import flattened, from_pattern, pattern_rows, to_pattern
from subtrie.fields.routing import Route, RouteChange, RoutingMatcher

__all__ = [
    "Absent",
    "AtLeast",
    "AtMost",
    "Criterion",
    "Equals",
    "FieldChange",
    "FieldDelivery",
    "FieldMatcher",
    "FieldSubscription",
    "GreaterThan",
    "LessThan",
    "Message",
    "NotIn",
    "OneOf",
    "Prefix",
    "Present",
    "Route",
    "RouteChange",
    "RoutingMatcher",
    "Within",
    "flattened",
    "from_pattern",
    "pattern_rows",
    "to_pattern",
]
