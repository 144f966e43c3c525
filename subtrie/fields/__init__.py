"""Content-based routing: subscriptions by what the fields of a message hold.

`FieldMatcher` finds the subscriptions that a message meets by its fields, `RoutingMatcher` by topic and fields. What a
subscription asks of one field is a criterion: `Equals`, `OneOf`, `NotIn`, `Present`, `Absent`, `Within`, `LessThan`,
`AtMost`, `GreaterThan`, `AtLeast`, `Prefix`, `Suffix`, `Wildcard`, `EqualsIgnoringCase`, `InNetwork`. `Not` and `AnyOf`
are made of others. `flattened` makes messages of nested events, and `explain` says why one meets criteria, or does not.
`from_pattern` and `to_pattern` read and write criteria as the JSON patterns of event routers.
"""

from subtrie.fields.combined import AnyOf, Not
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
from subtrie.fields.events import Elements, flattened
from subtrie.fields.explaining import explain
from subtrie.fields.matcher import FieldChange, FieldDelivery, FieldMatcher, FieldSubscription, Message
from subtrie.fields.patterns import from_pattern, pattern_rows, to_pattern
from subtrie.fields.routing import Route, RouteChange, RoutingMatcher
from subtrie.fields.texts import EqualsIgnoringCase, InNetwork, Suffix, Wildcard

__all__ = [
    "Absent",
    "AnyOf",
    "AtLeast",
    "AtMost",
    "Criterion",
    "Elements",
    "Equals",
    "EqualsIgnoringCase",
    "FieldChange",
    "FieldDelivery",
    "FieldMatcher",
    "FieldSubscription",
    "GreaterThan",
    "InNetwork",
    "LessThan",
    "Message",
    "Not",
    "NotIn",
    "OneOf",
    "Prefix",
    "Present",
    "Route",
    "RouteChange",
    "RoutingMatcher",
    "Suffix",
    "Wildcard",
    "Within",
    "explain",
    "flattened",
    "from_pattern",
    "pattern_rows",
    "to_pattern",
]
