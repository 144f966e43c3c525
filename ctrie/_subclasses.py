"""What subclasses add to an object of this package, which copies, snapshots and pickles keep, and what they forget."""

from __future__ import annotations

from typing import Any

# What `__reduce__` returns as its third part: the attributes in `__dict__`, and those in `__slots__`.
Attributes = tuple[dict[str, Any] | None, dict[str, Any]]


def attributes_of(instance: Any, base: type) -> Attributes | None:
    """Return the attributes that subclasses of `base` have added, or None if there are none.

    `copy` and `pickle` give such a state to an object by themselves, if it has no `__setstate__`.
    """
    in_slots: dict[str, Any] = {}
    for kind in type(instance).__mro__:
        if kind is base:
            break
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{kind.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(instance, name):
                in_slots[name] = getattr(instance, name)
    in_dict = getattr(instance, "__dict__", None)
    return (dict(in_dict) if in_dict else None, in_slots) if in_dict or in_slots else None


def set_attributes(instance: Any, attributes: Attributes | None) -> None:
    """Give an object what `attributes_of` returned for another one of its class."""
    if attributes is None:
        return
    in_dict, in_slots = attributes
    if in_dict:
        instance.__dict__.update(in_dict)
    for name, value in in_slots.items():
        setattr(instance, name, value)


def not_to_be_changed(kind: str, is_made: bool, advice: str) -> TypeError:
    """Return the error for a change of an object that refuses them: a snapshot, or one whose `__init__` has not run."""
    if is_made:
        return TypeError(f"this {kind} is a read-only snapshot; {advice}")
    return TypeError(
        f"this {kind} is not initialised, and so read-only: a subclass with an __init__ of its own calls "
        "super().__init__()"
    )
