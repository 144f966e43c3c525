"""What the compiled classes say of themselves: their signatures, which `inspect` cannot read off them, and that types
may stand in brackets behind their names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature

# Their `__class_getitem__`. It stands there without an annotation, which Cython does not know on attributes of classes.
SUBSCRIPTED: Any = classmethod(GenericAlias)


class NoDefault:
    """The default of a parameter that has none: without it, the call does something else."""

    def __repr__(self) -> str:
        return "<no default>"


class LazySignature:
    """The class attribute `__signature__`, which becomes a signature when it is asked for: `inspect` is not loaded
    before somebody uses it.

    It is that of a function which is never called, or, without one, has these parameters, those with defaults by name.
    """

    def __init__(self, *parameters: str | Callable[..., None], **defaults: Any) -> None:
        self._parameters = parameters
        self._defaults = defaults

    def __get__(self, instance: object, owner: type) -> Signature:
        if instance is not None or "inspect" not in sys.modules or self._has_own_way_to_be_made(owner):
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature, signature

        if len(self._parameters) == 1 and callable(self._parameters[0]):
            return signature(self._parameters[0]).replace(return_annotation=owner)
        kind = Parameter.POSITIONAL_OR_KEYWORD
        return Signature(
            [
                *(Parameter(str(name), kind) for name in self._parameters),
                *(Parameter(name, kind, default=default) for name, default in self._defaults.items()),
            ],
            return_annotation=owner,
        )

    def _has_own_way_to_be_made(self, owner: type) -> bool:
        """Tell whether a class that is made from the one with this attribute takes something else."""
        for kind in owner.__mro__:
            if vars(kind).get("__signature__") is self:
                return False
            if "__init__" in vars(kind) or "__new__" in vars(kind):
                return True
        return False


def ctrie(
    mapping_or_pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
    /,
    *,
    hash: Callable[[Any], int] | None = None,
    equal: Callable[[Any, Any], Any] | None = None,
) -> None:
    """That of `Ctrie`."""
