"""Automatic switch points: shared attributes, and items of lists, dictionaries, sets and deques.

While an object is explored, its functions run from rewritten code. It is made from their source, and makes a separate
step of every access of an attribute that some function changes, and of a container if any container is changed. `self.n
+= 1` is a step that reads `n` and one that writes it. `self.waiting.append(x)`, `key in self.known` and
`sorted(self.known)` are one step each, as they are for an interpreter with a lock. A loop over a container makes a step
for each item.

* **Which functions**: the methods of the object's class and its bases, of the classes of the objects it holds when the
  factory has made it, and all functions and classes that these name. Excluded are the standard library, and code that
  marks its steps itself (`switch_point`).
* **Which attributes**: those that one of these functions assigns to, except in `__init__`. All others never change.
* **Which containers**: all but lists and the like that a function makes for itself and gives to no other code.

Objects that the factory has made are told apart by their places. Of objects made later, all of one class are taken as
one, which is sound and may cost executions. Code whose source cannot be read is left unchanged, and `unseen` names it
if it changes anything: then nothing is proved.
"""

from __future__ import annotations

import ast
import dis
import inspect
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Final

from stress.explorer.slots import Seam
from stress.explorer.substitution import is_foreign

__all__ = ["CONTAINERS", "Place", "PlainState", "attributes_of", "held"]

CONTAINERS: Final = (list, dict, set, deque, bytearray)
_READERS: Final = frozenset({
    "len", "list", "tuple", "sorted", "set", "frozenset", "dict", "sum", "min", "max", "any", "all", "iter",
    "enumerate", "zip", "reversed", "bool", "repr", "str", "next", "map", "filter", "deque", "hash",
})  # fmt: skip
"""Names of functions that read a container in one step."""
_KEEPERS: Final = frozenset({"iter", "map", "filter", "enumerate", "zip"})
"""Those of them whose results read the container later, and may be given to other code."""
_CHANGERS: Final = frozenset({
    "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right", "shuffle",
})  # fmt: skip
"""Names of functions that change their first argument, or their last, in one step."""
_CHANGING: Final = frozenset({
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "discard", "add",
    "clear", "update", "setdefault", "sort", "reverse", "rotate", "move_to_end", "difference_update",
    "intersection_update", "symmetric_difference_update", "subtract", "__setitem__", "__delitem__", "__ior__",
})  # fmt: skip
_READING: Final = frozenset({
    "get", "keys", "values", "items", "copy", "count", "index", "most_common", "elements", "union", "intersection",
    "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint", "__getitem__", "__contains__",
    "__len__",
})  # fmt: skip
_DESCRIPTORS: Final = (property, staticmethod, classmethod, MemberDescriptorType, GetSetDescriptorType)
_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__", "__set_name__", "__init_subclass__"})
_DYNAMIC: Final = frozenset({"setattr", "delattr", "__dict__", "vars", "__setattr__", "__delattr__", "exec", "eval"})
"""Names whose use means that any attribute may change."""
_HELPER: Final = "__stress__"


class Place:
    """A place of plain values that threads share."""

    __slots__ = ("_name", "what")
    _value: Final = None

    def __init__(self, name: Any, what: str) -> None:
        self._name, self.what = name, what


class PlainState:
    """The explored plain state of an object. Use it with `stepping`, and call `note` for every object that the factory
    makes.

    Parameters:
        seam: where steps are made.
        made: an object from the factory.
        others: more functions and classes that belong to it, such as the factory.
    """

    def __init__(self, seam: Seam, made: Any, others: Iterable[Any] = ()) -> None:
        self._seam = seam
        self._places: dict[Any, Place] = {}
        self._lying: dict[int, tuple[Any, str]] = {}
        classes = [type(each) for each, _ in held(made)]
        self._functions, self.classes = _reachable([*classes, *others])
        codes = [code for function in self._functions for code in _codes(function.__code__)]
        self.attributes, self.containers = _changed(codes)
        self._instead: list[tuple[FunctionType, CodeType]] = []
        self.unseen: list[str] = []
        """Functions that change something without a visible step."""
        if self.attributes or self.containers:
            self._rewrite()

    def missing(self) -> list[str]:
        """The reasons why the exploration is not complete."""
        if not self.unseen:
            return []
        return [f"the source of {', '.join(self.unseen)} cannot be read, so what it changes was not seen"]

    def outliving(self) -> Iterator[tuple[Any, str, Any]]:
        """State that outlives an execution: the variables of modules that the functions name, as (dictionary, name,
        value), and the attributes of classes, as (class, name, value).
        """
        seen: set[tuple[int, str]] = set()
        for function in self._functions:
            names = function.__globals__
            for name in dict.fromkeys(name for code in _codes(function.__code__) for name in code.co_names):
                is_variable = name in names and not isinstance(names[name], (type, FunctionType, ModuleType))
                if is_variable and (id(names), name) not in seen:
                    seen.add((id(names), name))
                    yield names, name, names[name]
        for cls in self.classes:
            for name, value in list(vars(cls).items()):
                if not name.startswith("__") and not callable(value) and not isinstance(value, _DESCRIPTORS):
                    yield cls, name, value

    def _rewrite(self) -> None:
        trees: dict[str, dict[tuple[str, int], tuple[CodeType, CodeType]] | None] = {}
        for function in self._functions:
            code = function.__code__
            touched = _touches(code, self.attributes, self.containers)
            if not touched or _marks_itself(code):
                continue
            if code.co_filename not in trees:
                trees[code.co_filename] = _both(function, self.attributes, self.containers)
            plain, stepping = (trees[code.co_filename] or {}).get(_key(code), (None, None))
            if plain is None or stepping is None or not _same(plain, code) or stepping.co_freevars != code.co_freevars:
                if any(map(_changes, _codes(code))) and code.co_name not in _MAKING:
                    self.unseen.append(function.__qualname__)
                continue
            self._instead.append((function, stepping))

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Within the block, the functions run from the rewritten code."""
        spaces = {id(function.__globals__): function.__globals__ for function, _ in self._instead}
        codes = [(function, function.__code__) for function, _ in self._instead]
        try:
            for names in spaces.values():
                names[_HELPER] = self
            for function, code in self._instead:
                function.__code__ = code
            yield
        finally:
            for function, code in codes:
                function.__code__ = code
            for names in spaces.values():
                names.pop(_HELPER, None)

    def note(self, made: Any) -> None:
        """Record the places in a fresh object."""
        if self._instead:
            self._lying = {id(each): (each, where) for each, where in held(made)}

    # Called by rewritten code.

    def at(self, owner: Any) -> Any:
        """`owner`, whose attributes are accessed step by step."""
        if self._seam.before is None or isinstance(owner, (ModuleType, super)):
            return owner
        return _Stepping(self, owner)

    def items(self, container: Any) -> Any:
        """A container whose items are accessed step by step."""
        if self._seam.before is None or not isinstance(container, CONTAINERS):
            return container
        return _Items(self, container)

    def read(self, container: Any) -> Any:
        """A container that is about to be read as a whole."""
        if isinstance(container, CONTAINERS):
            self.step(container, None, False)
        return container

    def write(self, container: Any) -> Any:
        """A container that is about to be changed as a whole."""
        if isinstance(container, CONTAINERS):
            self.step(container, None, True)
        return container

    def step(self, owner: Any, attribute: str | None, changes: bool) -> None:
        """Make the step that accesses an attribute or, if `attribute` is None, the items of a container."""
        before = self._seam.before
        if before is None:
            return
        lying = self._lying.get(id(owner))
        where = f"a {type(owner).__name__}" if lying is None else lying[1]
        key = (where, attribute)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(key, _told(where, attribute))
        if changes:
            before(place, None, "write")
        else:
            before(place)


def _told(where: str, attribute: str | None) -> str:
    if attribute is None:
        return f"items of {where}"
    return f"{where}.{attribute}" if where else attribute


class _Stepping:
    """An object whose every access of an attribute is a step."""

    __slots__ = ("_of", "_state")

    def __init__(self, state: PlainState, of: Any) -> None:
        object.__setattr__(self, "_state", state)
        object.__setattr__(self, "_of", of)

    def __getattribute__(self, name: str) -> Any:
        of, state = object.__getattribute__(self, "_of"), object.__getattribute__(self, "_state")
        if isinstance(of, CONTAINERS) and hasattr(of, name):
            return _Method(state, of, name) if name in _CHANGING or name in _READING else getattr(of, name)
        if name in state.attributes:
            state.step(of, name, False)
        return getattr(of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        of, state = object.__getattribute__(self, "_of"), object.__getattribute__(self, "_state")
        state.step(of, name, True)
        setattr(of, name, value)

    def __delattr__(self, name: str) -> None:
        of, state = object.__getattribute__(self, "_of"), object.__getattribute__(self, "_state")
        state.step(of, name, True)
        delattr(of, name)


class _Method:
    """A method of a container whose call is a step."""

    __slots__ = ("_name", "_of", "_state")

    def __init__(self, state: PlainState, of: Any, name: str) -> None:
        self._state, self._of, self._name = state, of, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        self._state.step(self._of, None, self._name in _CHANGING)
        return getattr(self._of, self._name)(*args, **named)


class _Items:
    """A container whose every access of items is a step."""

    __slots__ = ("_of", "_state")

    def __init__(self, state: PlainState, of: Any) -> None:
        self._state, self._of = state, of

    def __getitem__(self, key: Any) -> Any:
        self._state.step(self._of, None, isinstance(self._of, dict) and hasattr(type(self._of), "__missing__"))
        return self._of[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._state.step(self._of, None, True)
        self._of[key] = value

    def __delitem__(self, key: Any) -> None:
        self._state.step(self._of, None, True)
        del self._of[key]

    def __iter__(self) -> Iterator[Any]:
        self._state.step(self._of, None, False)
        items = iter(self._of)
        while True:
            self._state.step(self._of, None, False)
            try:
                item = next(items)
            except StopIteration:
                return
            yield item


# ------------------------------------------------------------------------------------------------ what belongs to it


def held(made: Any, kinds: tuple[type, ...] = (), most: int = 500) -> Iterator[tuple[Any, str]]:
    """The objects and containers that an object consists of, and objects of the given `kinds`, each with its place."""
    seen: dict[int, Any] = {}
    waiting: deque[tuple[Any, str]] = deque([(made, "")])
    while waiting and len(seen) < most:
        each, where = waiting.popleft()
        if id(each) in seen or isinstance(each, (str, bytes, int, float, bool, type(None), type, ModuleType)):
            continue
        seen[id(each)] = each
        is_ours = _is_ours(type(each))
        if is_ours or isinstance(each, CONTAINERS) or (kinds and isinstance(each, kinds)):
            yield each, where
        if isinstance(each, dict):
            waiting.extend((item, f"{where}[{key!r}]") for key, item in list(each.items()))
        elif isinstance(each, (list, tuple, deque)):
            waiting.extend((item, f"{where}[{at}]") for at, item in enumerate(each))
        if is_ours or each is made:
            attributes = (*attributes_of(each), *_shared_attributes_of(each))
            waiting.extend((item, f"{where}.{name}" if where else name) for name, item in attributes)


_HEAP_TYPE: Final = 1 << 9


def _is_ours(each: Any) -> bool:
    """Whether a class or function is part of the object. Code executed without a module has the module `builtins`."""
    module = getattr(each, "__module__", "") or ""
    if module == "builtins":
        return isinstance(each, FunctionType) or (isinstance(each, type) and bool(each.__flags__ & _HEAP_TYPE))
    return not is_foreign(module)


def attributes_of(each: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that an object has of its own."""
    for base in reversed(type(each).__mro__):
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(each, name):
                yield name, getattr(each, name)
    yield from list(getattr(each, "__dict__", {}).items())


def _shared_attributes_of(each: Any) -> Iterator[tuple[str, Any]]:
    """The containers that all objects of a class share."""
    for base in type(each).__mro__:
        if _is_ours(base):
            for name, item in list(vars(base).items()):
                if isinstance(item, CONTAINERS):
                    yield f"__class__.{name}", item


def _reachable(roots: Iterable[Any]) -> tuple[list[FunctionType], list[type]]:
    """The functions of `roots` and those that their code names, transitively; and the classes among them."""
    waiting, seen = list(roots), set[int]()
    functions: list[FunctionType] = []
    classes: list[type] = []
    while waiting:
        each = waiting.pop()
        each = getattr(each, "__func__", each)
        if id(each) in seen or not _is_ours(each):
            continue
        seen.add(id(each))
        if isinstance(each, type):
            classes.append(each)
            waiting += [base for base in each.__mro__[1:] if base is not object]
            for value in vars(each).values():
                if isinstance(value, property):
                    waiting += [found for found in (value.fget, value.fset, value.fdel) if found is not None]
                elif callable(value) or isinstance(value, (staticmethod, classmethod)):
                    waiting.append(value)
        elif isinstance(each, FunctionType):
            functions.append(each)
            wrapped = getattr(each, "__wrapped__", None)
            if wrapped is not None:
                waiting.append(wrapped)
            names = {name for code in _codes(each.__code__) for name in code.co_names}
            waiting += [each.__globals__[name] for name in names if callable(each.__globals__.get(name))]
            for cell in each.__closure__ or ():
                try:
                    if callable(cell.cell_contents):
                        waiting.append(cell.cell_contents)
                except ValueError:
                    continue  # not assigned yet
    return functions, classes


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


# ------------------------------------------------------------------------------------------------- what changes in it


def _changed(codes: Iterable[CodeType]) -> tuple[frozenset[str], bool]:
    """The attributes that some code assigns to, and whether any code changes a container."""
    attributes: set[str] = set()
    containers = False
    for code in codes:
        for each in dis.get_instructions(code):
            if each.opname in ("STORE_ATTR", "DELETE_ATTR") and code.co_name not in _MAKING:
                attributes.add(str(each.argval))
            containers = containers or _changes_container(code, each)
        if _DYNAMIC & {*code.co_names} and code.co_name not in _MAKING:
            attributes.update(name for other in codes for name in other.co_names)
    return frozenset(attributes), containers


def _changes_container(code: CodeType, each: dis.Instruction) -> bool:
    if code.co_name in _MAKING:
        return False
    if each.opname in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
        return True
    return each.opname.startswith("LOAD_") and each.argval in (_CHANGING | _CHANGERS)


def _changes(code: CodeType) -> bool:
    return any(
        each.opname in ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL") or _changes_container(code, each)
        for each in dis.get_instructions(code)
    )


def _touches(code: CodeType, attributes: frozenset[str], containers: bool) -> bool:
    return containers or any(attributes & {*each.co_names} for each in _codes(code))


def _marks_itself(code: CodeType) -> bool:
    return any("switch_point" in each.co_names for each in _codes(code))


# ------------------------------------------------------------------------------------------------------- other code


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _same(one: CodeType, other: CodeType) -> bool:
    """Whether the source still matches the running code."""
    return one.co_code == other.co_code and one.co_names == other.co_names


def _both(
    function: FunctionType, attributes: frozenset[str], containers: bool
) -> dict[tuple[str, int], tuple[CodeType, CodeType]] | None:
    """The code of every function of a source file, original and rewritten; None if there is no source."""
    try:
        source = "".join(inspect.findsource(function)[0])
        flags = function.__code__.co_flags & _FUTURE
        tree = ast.parse(source)
        plain = compile(tree, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
        changed = ast.fix_missing_locations(_Rewriter(attributes, containers).visit(tree))
        stepping = compile(changed, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    with_steps = {_key(code): code for code in _codes(stepping)}
    return {_key(code): (code, with_steps[_key(code)]) for code in _codes(plain) if _key(code) in with_steps}


_FUTURE: Final = 0x1FF0000  # the code flags that `from __future__ import` sets

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Parts = Mapping[type[ast.AST], tuple[str, ...]]

_BY_ITEMS: Final[_Parts] = {ast.Subscript: ("value",), ast.For: ("iter",), ast.comprehension: ("iter",)}
"""The parts of an expression or statement that it reads item by item."""
_AS_A_WHOLE: Final[_Parts] = {
    ast.If: ("test",), ast.While: ("test",), ast.IfExp: ("test",), ast.UnaryOp: ("operand",), ast.BoolOp: ("values",),
    ast.BinOp: ("left", "right"), ast.Compare: ("left", "comparators"), ast.Starred: ("value",),
    ast.FormattedValue: ("value",),
}  # fmt: skip
"""Those that it reads in one step."""
_NOT_PASSED_ON: Final[_Parts] = {
    **_BY_ITEMS, ast.If: ("test",), ast.While: ("test",), ast.IfExp: ("test",), ast.UnaryOp: ("operand",),
    ast.Compare: ("left", "comparators"), ast.Return: ("value",),
}  # fmt: skip
"""Those that it uses without giving them to other code than the caller."""


class _Rewriter(ast.NodeTransformer):
    """Inserts steps into functions."""

    def __init__(self, attributes: frozenset[str], containers: bool) -> None:
        self._attributes, self._containers = attributes, containers
        self._private: list[frozenset[str]] = []

    def visit_FunctionDef(self, node: _Function) -> Any:
        if node.name in _MAKING:
            return node
        self._private.append(_private_names(node))
        node.body = [self.visit(each) for each in node.body]
        self._private.pop()
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        private, self._private = self._private, []
        node.body = [self.visit(each) for each in node.body]
        self._private = private
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        is_of_container = self._containers and (node.attr in _CHANGING or node.attr in _READING)
        wraps = node.attr in self._attributes or (is_of_container and not self._is_private(node.value))
        if self._private and wraps:
            node.value = _call("at", node.value)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in _CHANGERS:
            self._wrap("write", node, ("args",))
        elif name in _READERS and isinstance(node.func, ast.Name):
            self._wrap("read", node, ("args",))
        return node

    def generic_visit(self, node: ast.AST) -> Any:
        super().generic_visit(node)
        self._wrap("items", node, _BY_ITEMS.get(type(node), ()))
        self._wrap("read", node, _AS_A_WHOLE.get(type(node), ()))
        return node

    def _wrap(self, helper: str, node: ast.AST, fields: Sequence[str]) -> None:
        """Put calls of a helper around those parts of a node that may be containers which other code has."""
        for name in fields:
            part = getattr(node, name)
            if isinstance(part, list):
                setattr(node, name, [_call(helper, each) if self._may_be_shared(each) else each for each in part])
            elif self._may_be_shared(part):
                setattr(node, name, _call(helper, part))

    def _may_be_shared(self, node: ast.expr) -> bool:
        if not self._private or not self._containers:
            return False
        is_read = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load)
        return is_read and not self._is_private(node)

    def _is_private(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and bool(self._private) and node.id in self._private[-1]


def _call(helper: str, argument: ast.expr) -> ast.Call:
    """A call of a method of `PlainState`, to replace an expression."""
    function = ast.Attribute(ast.Name(_HELPER, ast.Load()), helper, ast.Load())
    call = ast.Call(function, [argument], [])
    for each in (call, function, function.value):
        ast.copy_location(each, argument)
    return call


_FRESH: Final = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def _private_names(function: _Function) -> frozenset[str]:
    """Local variables that hold only containers which the function makes, and gives only to its caller."""
    fresh: set[str] = set()
    other: set[str] = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    used: dict[str, int] = {}
    harmless: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
                is_fresh = isinstance(target, ast.Name) and _is_fresh(node.value) and len(targets) == 1
                if is_fresh:
                    fresh.update(names)
                elif isinstance(target, (ast.Name, ast.Tuple, ast.List)):
                    other.update(names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] = used.get(node.id, 0) + 1
        for each in _harmless(node):
            harmless[each] = harmless.get(each, 0) + 1
        if isinstance(node, (ast.For, ast.comprehension, ast.NamedExpr, ast.AugAssign)):
            other.update(each.id for each in ast.walk(node.target) if isinstance(each, ast.Name))
        if isinstance(node, (ast.With, ast.Global, ast.Nonlocal, ast.ExceptHandler)) or (
            isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not function
        ):
            other.update(each.id for each in ast.walk(node) if isinstance(each, ast.Name) and _is_bound(node, each))
    return frozenset(name for name in fresh - other if used.get(name, 0) == harmless.get(name, 0))


def _is_bound(node: ast.AST, name: ast.Name) -> bool:
    """Whether a node binds the name, or is an inner function that uses it."""
    return isinstance(node, (ast.FunctionDef, ast.Lambda)) or not isinstance(name.ctx, ast.Load)


def _is_fresh(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("list", "dict", "set", "deque", "sorted", "OrderedDict", "defaultdict")
    return isinstance(node, _FRESH)


def _harmless(node: ast.AST) -> Iterator[str]:
    """The names that a node uses without passing on their values."""
    used: list[Any] = []
    for name in _NOT_PASSED_ON.get(type(node), ()):
        part = getattr(node, name)
        used += part if isinstance(part, list) else [part]
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            used.append(node.func.value)
        elif isinstance(node.func, ast.Name) and node.func.id in _READERS - _KEEPERS:
            used += node.args
    yield from (each.id for each in used if isinstance(each, ast.Name))
