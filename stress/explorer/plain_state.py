"""The state that threads share without saying so: attributes, items of containers, variables, and objects of C.

While an object is explored, the functions that run have steps (`instrumentation`). An access is a step if another
thread can tell: if two threads touch the object, and somebody changes that attribute, or the container. What is found
out about that (`Knowledge`) only grows. If it grows during an exploration, or a function runs that has no steps yet,
the exploration begins again (`grew`). So the last one has steps for all that ran in it.

* Which objects are shared, and the places that an access touches, are known to `Sharing`.
* Functions in C are one step. One that calls back makes its step again after each call back.
* Objects of unknown types of C are one place all together, which every use may change.
* What outlives an execution (variables of modules, attributes of classes, and what hangs on them) is put back after it
  (`Undo`).
"""

from __future__ import annotations

import _thread
import dis
import inspect
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context
from functools import cache, partial
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from stress.answers import space_of
from stress.explorer import sharing, sites
from stress.explorer.containers import is_a, is_namespace, items_of
from stress.explorer.coroutines import Abandoned
from stress.explorer.entered import CALLING, Entered, Stepped, codes_near, does_something
from stress.explorer.held import FUNCTION_OF_C, held
from stress.explorer.kinds import (
    ACCESSES,
    ATOMS,
    CHANGING,
    COMPARING,
    DESCRIPTORS,
    OF_EVERY_OBJECT,
    OF_EXCEPTIONS,
    READS_ATTRIBUTES,
    Kind,
    attempt,
    effect_of,
    has_python,
    is_of_c,
    is_state,
    kind_of,
    method_effect,
    unwrapped,
)
from stress.explorer.machine import stands
from stress.explorer.outliving import OF_C, Present
from stress.explorer.policy import (
    REFUSED,
    Refused,
    Treatment,
    WouldWait,
    is_deaf,
    is_ours,
    refusal_of,
    treatment_of,
    whole_of,
)
from stress.explorer.sharing import ASKING, BOUND, DEEP, SHALLOW, WHOLE, NewCode
from stress.explorer.slots import CLOCK, FOREIGN, MAIN, Seam
from stress.explorer.synchronization import refuse_private
from stress.outside import Outside

__all__ = ["PlainState"]


class PlainState(sharing.Sharing):
    """The explored plain state of objects that `factory` makes. Use it with `stepping`, and call `note` for every
    object that the factory makes. `make_twin` gives the explored primitive for a real lock, `modules` has the explored
    modules for real ones.
    """

    def __init__(
        self,
        seam: Seam,
        make_twin: Callable[[Any], Any],
        modules: Mapping[ModuleType, ModuleType],
        outside: Outside,
        roots: Iterable[Any] = (),
    ) -> None:
        super().__init__(seam, make_twin, roots)
        self.stepped = Stepped()
        self._modules = modules
        self.unseen: dict[str, str] = {}
        """What ran without steps, with its place."""
        self.entered = Entered(self._has_entered, seam.is_mine)
        self.watches = True
        """Whether this execution is watched from its beginning (`Entered.next_execution`)."""
        self.aborts = False
        """Whether an execution ends where code without steps is about to run."""
        self._unguarded: set[str] = set()
        self._outside = outside

    # ----------------------------------------------------------------------------------------------- what has run

    def missing(self) -> list[str]:
        """The reasons why the exploration is not complete."""
        way_out = "stress.treat can say how to take its module"
        ran = [f"{what} ran without steps ({where}; {way_out})" for what, where in self.unseen.items()]
        if not self._before.is_whole:
            ran.append("the program's modules hold more objects than can be put back after each execution")
        ran += [f"{what} ({where})" for what, where in self.lost.items()]
        told = "outlives an execution, and calls change it without a lock"
        return ran + [f"{what} {told}" for what in sorted(self._unguarded)]

    def _guard(self, what: str) -> None:
        """Something that outlives an execution is about to be changed: with a lock, all see one state of it. Without
        one, what calls leave there may be wrong, and no answer may tell.
        """
        if not self._seam.scheduler.locks_held[self._me()]:
            self._unguarded.add(what)

    def _has_entered(self, code: CodeType, frame: FrameType | None = None) -> None:
        """Some code begins to run."""
        if not self.listens or id(code) in CALLING:
            return
        if id(code) in self.stepped.made or treatment_of(code) is not Treatment.EXPLORED:
            return
        if frame is not None and (is_deaf(frame.f_back) or is_ours(frame.f_globals.get("__name__"))):
            return
        if self._outside.is_handling:
            return
        knowledge = self.knowledge
        alike = knowledge.alike.get(code, 0)
        if id(code) not in knowledge.codes and alike < _MOST_ALIKE:
            knowledge.alike[code] = alike + 1
            knowledge.codes[id(code)] = code
            knowledge.grew = True
            if self.aborts and frame is not None and hasattr(self._seam.scheduler, "step"):
                raise NewCode
        elif does_something(code):
            self.unseen.setdefault(code.co_qualname, f"{code.co_filename}:{code.co_firstlineno}")

    def begin_again(self) -> None:
        """Give steps to all that ran, and forget what was counted."""
        self.knowledge.grew = False
        self.unseen.clear()
        self.lost.clear()
        self._unguarded.clear()
        self.used.clear()
        self.put_back()
        self._before.put_back()
        self._before.include(self.knowledge.codes)
        self.stepped.take_back()
        self.stepped.give(self.knowledge)
        sites.use(self)
        self.entered.begin()

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Within the block, what runs has steps."""
        try:
            self.begin_again()
            yield
        finally:
            self.entered.end()
            sites.use(None)
            self.put_back()
            self._before.put_back()
            self._before.forget()
            self.stepped.take_back()

    def meets_new(self) -> None:
        """A site meets a type for the first time: what it leads to is watched."""
        if self._seam.before is not None:
            self.entered.watch()

    # -------------------------------------------------------------------------------------------- one execution

    def begin_execution(self) -> None:
        """Put back what the previous execution has changed of what outlives it, and forget its objects."""
        self.watches = self.entered.next_execution()
        self.put_back()
        self.now = Present()

    def alone_begins(self) -> None:
        """Calls are about to be made by one thread alone, from the state before an execution."""
        self.put_back()
        self._before_alone, self.now = self.now, Present()
        self.listens = True

    def alone_ends(self) -> None:
        """These calls have been made."""
        self.listens = False
        self.now = self._before_alone
        self.put_back()

    # ------------------------------------------------------------------------------------------------------- steps

    def use_clock(self, sleeps: bool) -> None:
        """A thread is about to sleep, which matters if any looks at the clock, or to look at it."""
        variables = self.knowledge.variables
        if self._counts() and (not sleeps or CLOCK[1] in variables):
            self.knowledge.learn(variables, CLOCK[1])
            self._step([CLOCK], sleeps)

    def turn(self, site: Any, _: Any) -> None:
        """A loop that no iterator ends begins again."""
        self.spin(site)
        turn = getattr(self._seam.scheduler, "turn", None)
        if turn is not None and self._counts():
            turn()

    def spin(self, site: Any) -> None:
        """A loop begins again. If loops have for many times, and no step was made meanwhile, one may wait for something
        that is not known to change: it makes a step, so others may go on. If it has changed nothing, not even what is
        its own, it may be seen to go in a circle.
        """
        now, scheduler = self.now, self._seam.scheduler
        now.turns += 1
        if now.turns < _TURNS:
            return
        if self.listens and (scheduler is None or getattr(scheduler, "would_wait", False)):
            raise Abandoned if scheduler is None else WouldWait  # the loop has caught what was to end it
        now.turns = 0
        is_alone = getattr(scheduler, "alone", False)
        if not self.listens or scheduler is None or not (is_alone or self._seam.before is not None):
            return
        at = getattr(scheduler, "step", MAIN), self._me()
        if at != now.spins_at:
            now.spins_at, now.rounds, now.changed = at, 0, False
            return
        now.rounds += 1
        if scheduler.goes_round(now.rounds, now.changed) or now.rounds > _MOST_ROUNDS:
            raise (
                WouldWait
                if is_alone
                else Refused(f"a loop goes round and round, and nothing shows what it waits for ({site})")
            )
        if at[0] != MAIN and self._counts():
            self._step([("", f"a turn of thread {at[1]}")], now.changed)
            now.spins_at, now.changed = (getattr(scheduler, "step", MAIN), self._me()), False

    def go_on(self, *_: Any) -> None:
        """A function returns. An instruction that has called it back goes on, so its step is made again. Where it is
        only suspended, no frame of the running call shows how far it is.
        """
        now, before = self.now, self._seam.before
        marks, frame = now.marks, sys._getframe(2)
        if before is not None and not now.changed and frame.f_code.co_flags & _SUSPENDED:
            stood = id(frame), stands(frame)
            now.changed = stood not in now.stood
            now.stood.add(stood)
        if before is None or not marks:
            return
        marks.pop(id(frame), None)
        caller = frame.f_back
        while caller is not None and (
            caller.f_code.co_filename == sites.__file__ or treatment_of(caller.f_code) is Treatment.OPAQUE
        ):
            caller = caller.f_back
        if caller is not None and id(caller) in marks:
            at, place, changes = marks[id(caller)]
            if at <= caller.f_lasti <= _instruction_behind(caller.f_code, at):
                before(place, None, "write") if changes else before(place)

    # --------------------------------------------------------------------------------------------------- attributes

    def read_attribute(self, owner: Any, name: str) -> None:
        """An attribute of a Python object, whose name is known to change, is about to be read."""
        if self._counts():
            self._step(self._keys_of_attribute(owner, name), False)

    def load(self, site: Any, kind: Kind, owner: Any, name: str = "") -> Any:
        """An attribute of something else is about to be read, which the site names; answers what to read it of."""
        name = name or site.name
        if kind is Kind.LOCK:
            twin = self._twin(owner)
            refuse_private(twin, name, False, site)
            return twin
        if kind is Kind.LOCAL:
            self._refuse_local(owner)
        if kind is Kind.MODULE and self.listens and owner in self._modules:
            return self._modules[owner]
        if kind is Kind.TYPE and name in ("__enter__", "__exit__") and kind_of(owner) is Kind.LOCK:
            return SimpleNamespace(
                __enter__=lambda lock: self._twin(lock).__enter__(),
                __exit__=lambda lock, *raised: self._twin(lock).__exit__(*raised),
            )
        if name == "__dict__" and type(space := space_of(owner)) is dict:
            self.now.spaces[id(space)] = (space, owner)
        if not self._counts():
            return owner
        if name == "__dict__":
            self._step(
                [each for one in sorted(self.knowledge.names) for each in self._keys_of_attribute(owner, one)], False
            )
        if kind is Kind.MODULE:
            self._use_global(vars(owner), name, False)
        elif kind is Kind.TYPE:
            if name in self.knowledge.of_classes:
                self._step([("a class", name)], False)
        elif kind is Kind.SUPER:
            self._step(self._keys_of_attribute(owner.__self__, name), False)
        elif kind is Kind.FOREIGN and name == "__enter__":  # or it is entered by `with`
            self._use_foreign(owner, True)
        elif kind is Kind.FOREIGN:
            keys = self._keys_of_attribute(owner, name)
            if is_state(owner, name) and self._is_met(owner):
                keys.append(FOREIGN)
            self._step_of_c(keys, False)
        elif name in self.names:
            self._step(self._keys_of_attribute(owner, name), False)
        return owner

    def store(self, site: Any, owner: Any) -> None:
        """An attribute is about to be changed, which the site names."""
        kind = site.known[type(owner)]
        if kind is Kind.QUIET:
            refuse_private(owner, site.name, True, site)
        self.change_attribute(owner, site.name, kind)

    def change_attribute(self, owner: Any, name: str, kind: Kind | None = None) -> None:
        """An attribute is about to be changed."""
        kind = kind_of(type(owner)) if kind is None else kind
        if kind is Kind.LOCAL:
            self._refuse_local(owner)
        if kind is Kind.TYPE and name == "__slotnames__":
            return  # a cache of `copyreg`, which every thread fills with the same
        if kind is Kind.MODULE:
            self._use_global(vars(owner), name, True)
            return
        if kind is Kind.TYPE:
            self._save(owner)
        else:
            self._save_place(owner, name)
        if not self._counts():
            return
        knowledge = self.knowledge
        if kind is Kind.TYPE:
            self._guard(f"{owner.__qualname__}.{name}")
            knowledge.learn(knowledge.of_classes, name)
            knowledge.learn(knowledge.names, name)
            self._step([("a class", name)], True)
        elif kind is Kind.FOREIGN and is_of_c(type(owner)):
            self._use_foreign(owner, True)
        else:
            if name in _EXCHANGED:
                raise Refused(f"calls exchange the {name} of an object, and with it all that it has")
            knowledge.learn(knowledge.names, name)
            where = self._whose(owner)
            self._step([] if where is None else [(where, name)], True)

    def _refuse_local(self, owner: Any) -> None:
        if self._counts():
            raise Refused(
                "a threading.local is older than the exploration: let the factory make it"
                if type(owner) is _thread._local
                else f"a {type(owner).__name__} is derived from threading.local, and each thread has its attributes: "
                "let it be a threading.local"
            )

    # ---------------------------------------------------------------------------------------------------- variables

    def read_global(self, site: Any, _: Any) -> None:
        """A module's variable is about to be read."""
        self._use_global(sys._getframe(2).f_globals, site.name, False)

    def change_global(self, site: Any, _: Any) -> None:
        """A module's variable is about to be changed."""
        self._use_global(sys._getframe(2).f_globals, site.name, True)

    def _use_global(self, names: dict[str, Any], name: str, changes: bool) -> None:
        known = self.knowledge.variables
        if changes:
            self._save(names)
        if self._counts() and (changes or name in known):
            if changes:
                self.knowledge.learn(known, name)
                self._guard(name)
            self._step([(dict.get(names, "__name__"), name)], changes)

    def read_variable(self, site: Any, cell: Any) -> None:
        """A variable of a closure is about to be read."""
        self._use_variable(cell, site.name, False)

    def change_variable(self, site: Any, cell: Any) -> None:
        """A variable of a closure is about to be changed."""
        self._use_variable(cell, site.name, True)

    def _use_variable(self, cell: Any, name: str, changes: bool) -> None:
        if changes:
            self._save(cell)
        if self._counts():
            if changes:
                self.knowledge.learn(self.knowledge.variables, name)
            where = self._whose(cell)
            self._step([] if where is None else [(where, name)], changes)

    # --------------------------------------------------------------------------------------------------- containers

    def use(self, site: Any, operands: tuple[Any, ...]) -> None:
        """An instruction is about to have the effect on its operands that the site names."""
        self._use(site, site.name, operands)

    def use_in_parts(self, site: Any, operands: tuple[Any, ...]) -> None:
        """The same, of an instruction that reads several things, while other threads may run."""
        self._use_in_parts(site, site.name, operands, "an instruction that reads several things")

    def read_item(self, site: Any, operands: tuple[Any, Any]) -> None:
        """An item is about to be read."""
        owner, key = operands
        if kind_of(type(owner)) in _WITH_ITEMS and not has_python(owner, "__getitem__"):
            self._call_method(site, owner, "__getitem__", (key,))

    def change_item(self, site: Any, operands: tuple[Any, ...]) -> None:
        """An item is about to be changed or removed. Several at once take the items of the value that is given."""
        owner, key, *values = operands
        kind, name = kind_of(type(owner)), "__setitem__" if values else "__delitem__"
        if kind in _WITH_ITEMS and not has_python(owner, name):
            values = values if site.name or type(key) is slice or kind is Kind.FOREIGN else []
            self._call_method(site, owner, name, (key, *values))

    def take_next(self, site: Any, iterator: Any) -> None:
        """The next item of an iterator is about to be taken."""
        kind = site.known[type(iterator)]
        if type(iterator) is ASKING:
            self.turn(site, None)
        elif type(iterator) not in _ENDING:
            self.spin(site)
        self.now.changed = self.now.changed or not self._shows(kind, iterator)
        if kind in OF_C:
            self._save(iterator, is_changed=True)
        if self._counts():  # a loop over a list may do without an iterator
            self._step_of_c(self._keys_of((iterator,), SHALLOW), False)

    def _shows(self, kind: Kind, iterator: Any) -> bool:
        """Whether an iterator is code with steps, or asks such code: these tell of themselves that they go on."""
        if type(iterator) is ASKING:
            return type(iterator.__reduce__()[1][0]) in (MethodType, FunctionType)
        code = getattr(iterator, "gi_code", None) or getattr(iterator, "cr_code", None)
        return kind is Kind.PLAIN or id(code) in self.stepped.made

    # -------------------------------------------------------------------------------------------------------- calls

    def call(self, site: Any, callee: Any, given: tuple[Any, ...]) -> None:
        """Something is about to be called."""
        callee, given = unwrapped(callee, given)
        of = type(callee)
        is_method = of is MethodType
        function = callee.__func__ if is_method else callee
        self.now.marks.pop(id(sys._getframe(2)), None)
        if type(function) is FunctionType:
            code = function.__code__
            if id(code) in self.stepped.made:
                return
            treatment = treatment_of(code)
            if treatment is Treatment.OURS:
                self.stepped.made[id(code)] = code
                return
            if treatment is Treatment.EXPLORED:
                copy = self.stepped.alike.get(code) if self.listens else None
                if copy is not None:  # it was compiled again, or its function was made before the exploration
                    self.stepped.give_one(function, copy)
                    return
                self._has_entered(code)
            else:
                self._use_python(site, function, (callee.__self__, *given) if is_method else given)
            return
        if is_method:
            callee, given, of = function, (callee.__self__, *given), type(function)
        if given and self.entered.is_blind:
            self._meet(site, given)
        if of is _TYPE or issubclass(of, _TYPE):
            site.known[callee]  # asks for its kind if it is new
            self._use(site, effect_of(callee), given)
            return
        owner = callee.__self__ if of in BOUND else None
        if of in _METHODS:
            owner, given = (given[0], given[1:]) if given else (None, given)
        elif of is FUNCTION_OF_C and (owner is None or is_a(owner, ModuleType)):
            if callee in REFUSED and self._me() != MAIN:
                raise Refused(f"{REFUSED[callee]} ({site})")
            self._use(site, effect_of(callee), given)
            return
        elif of not in BOUND:
            self._call_other(site, callee, given)
            return
        self._refuse_waiting(callee, given)
        self._call_method(site, owner, callee.__name__, given)

    def _meet(self, site: Any, given: tuple[Any, ...]) -> None:
        """Look at what a call in C may call back: if this instruction has not met it, what it leads to is watched."""
        for each in given:
            of = type(each)
            if of not in ATOMS or of is FunctionType:
                function = unwrapped(each, ())[0] if of is partial else each
                function = getattr(function, "__func__", function) if type(function) is MethodType else function
                if type(function) is not FunctionType:
                    site.known[of]
                elif id(function.__code__) not in self.stepped.made:
                    self.entered.watch()

    def _call_other(self, site: Any, callee: Any, given: tuple[Any, ...]) -> None:
        kind = kind_of(type(callee))
        if kind is Kind.CACHE:
            self._save(callee)
            if self._counts():
                self._step_of_c([("a cache", getattr(callee, "__qualname__", ""))], True)
        elif kind is Kind.FOREIGN:
            self._use_of_c(site, callee, given)
        elif kind is Kind.QUIET:
            self._use(site, effect_of(callee), given)

    def _use_of_c(self, site: Any, of_c: Any, given: tuple[Any, ...], is_changed: bool = False) -> None:
        """An object of C does something with what it is given."""
        self._save(of_c, is_changed=is_changed)
        if self._counts():
            self._use_foreign(of_c, True)
            self._use(site, "change", given)

    def _call_method(self, site: Any, owner: Any, name: str, given: tuple[Any, ...]) -> None:
        """A method in C of `owner` is about to be called."""
        kind = kind_of(type(owner))
        if kind is Kind.CONTAINER and name not in OF_EVERY_OBJECT:
            self._call_of_container(owner, name, given)
        elif kind is Kind.FOREIGN and name not in OF_EVERY_OBJECT:
            if type(owner) is Context and name == "run" and self._counts() and self._whose(owner) is not None:
                raise Refused(f"threads share a context (`Context.run`), which cannot be explored ({site})")
            self._use_of_c(site, owner, given, is_changed=name in _OF_ITEMS)
        elif kind in (Kind.ITERATOR, Kind.GENERATOR):
            self.take_next(site, owner)
        elif kind is Kind.VIEW:
            self._use(site, "shallow", (owner, *given))
        elif kind is Kind.CACHE:
            self._call_other(site, owner, given)
        elif type(owner) in DESCRIPTORS and name in ACCESSES and given:
            self._use(site, ACCESSES[name], (given[0], owner.__name__))
        elif kind is Kind.QUIET:
            self._use(site, "now" if name == "set" else "whole" if name in READS_ATTRIBUTES else "read", given)
        elif issubclass(type(owner), BaseException) and name in OF_EXCEPTIONS:
            for each in (*given, ())[0] or () if name == "__setstate__" else (OF_EXCEPTIONS[name],):
                self.change_attribute(owner, each)
            self._use(site, "change", tuple((space_of(owner) or {}).values()))  # notes are a list
        else:
            effect = method_effect(name)
            if effect in ("set", "get"):
                self._use(site, effect, (owner, *given))
            elif effect == "read" and kind is Kind.TYPE:  # a method of a class, as `dict.fromkeys` and `datetime.now`
                self._use(site, "outside" if effect_of(owner) == "outside" else "now", given)
            elif effect == "read" and name in ("__reduce_ex__", "__reduce__", "__getstate__", "__sizeof__", "__dir__"):
                self._use(site, "get", (owner,))

    def _call_of_container(self, owner: Any, name: str, given: tuple[Any, ...]) -> None:
        fills = name == "__getitem__" and hasattr(type(owner), "__missing__") and not has_python(owner, "__missing__")
        changes = name in CHANGING or fills
        space = self._space_of(owner)
        is_of_names = space is not None and (changes or name == "__getitem__")
        if is_of_names or is_namespace(owner):
            names = [each for each in given if is_a(each, str)]
            names += [each for one in given if is_a(one, dict) for each in items_of(one)]
            if is_of_names and name not in (*_OF_ITEMS, "__getitem__"):
                names += [each for each in items_of(owner) if is_a(each, str)]
            for each in sorted(set(names)):
                if space is None:
                    self._use_global(owner, each, changes)
                elif changes:
                    self.change_attribute(space, each)
                elif each in self.names:
                    self.read_attribute(space, each)
            return
        if changes:
            self._save(owner)
        if not self._counts():
            return
        keys = self._keys_of_items(owner, changes)
        if given:
            compares = name in COMPARING
            reach = DEEP if compares or name == "update" else SHALLOW  # pairs may be lists
            keys += self._keys_of((owner, *given) if compares else given, reach)
            keys = list(dict.fromkeys(keys))
        succeeds = attempt(owner, name, given) if changes and len(keys) == 1 else None
        self._step_of_c(keys, changes, succeeds)

    def _use(self, site: Any, effect: str, given: tuple[Any, ...]) -> None:
        """The effect of a call in C on what it is given."""
        self.now.changed = self.now.changed or effect == "now"
        if effect == "none" or not (given or effect == "outside"):
            return
        first = given[0] if given else None
        if effect in ("set", "get"):
            name: Any = given[1] if len(given) > 1 else "__dict__"
            if is_a(name, str):
                refuse_private(first, name, effect == "set", site)
                kind = kind_of(type(first))
                if effect == "set":
                    self.change_attribute(first, name)
                elif kind not in (Kind.QUIET, Kind.LOCK):
                    self.load(site, kind, first, name)
            return
        if effect == "first" and kind_of(type(first)) not in (Kind.CONTAINER, Kind.FOREIGN):
            effect = "read"
        if effect == "first":  # as a method that changes it, and may compare its items
            self._call_method(site, first, "sort", given[1:])
        elif effect == "next":
            self.take_next(site, first)
        else:
            changes = effect in ("change", "outside")
            for each in given if changes else ():
                self._save(each)
                if kind_of(type(each)) is Kind.LOCK and self._counts():
                    told = f"a real {type(each).__qualname__}, which keeps no thread out here"
                    raise Refused(f"code without steps uses {told} ({site})")
            if self._counts():
                keys = self._keys_of(given, _REACH[effect], changes)
                if effect == "outside":  # it finds or leaves something elsewhere
                    keys = list(dict.fromkeys([FOREIGN, *keys]))
                self._step_of_c(keys, changes)

    def _use_python(self, site: Any, function: FunctionType, given: tuple[Any, ...]) -> None:
        """The effect of Python code without steps: a whole here, it goes through what it is given item by item."""
        refused = REFUSED.get(function) or refusal_of(function.__module__ or "", function.__code__.co_name)
        if refused and self._me() != MAIN:
            raise Refused(f"{refused} ({site})")
        effect = whole_of(f"{function.__module__}.{function.__name__}")
        self._use_in_parts(site, effect or "outside", given, function.__qualname__)

    def _use_in_parts(self, site: Any, effect: str, given: tuple[Any, ...], what: str) -> None:
        """The effect of what is no step by itself, but a whole if no other thread disturbs it."""
        before = getattr(self._seam.scheduler, "step", 0)
        self._use(site, effect, given)
        if self._counts() and self._is_disturbed(before):
            told = f"{what}, which another thread disturbs,"
            self.unseen.setdefault(told, f"{site.code.co_filename}:{site.line}")

    def expect(self, factory: Any, first: Any) -> None:
        """Learn from an object of the factory's what will probably run."""
        self.knowledge.codes.update(
            (id(code), code) for code in codes_near([factory, *(type(each) for each, _ in held(first))])
        )


@cache
def _instruction_behind(code: CodeType, at: int) -> int:
    """Where the instruction lies that a site is about, which looks its operands up at another place before it."""
    behind = (each for each in dis.get_instructions(code) if each.offset > at and each.opname not in _BETWEEN)
    return next(behind).offset


_BETWEEN: Final = frozenset({"POP_TOP", "KW_NAMES", "PRECALL", "CACHE"})
"""Instructions between a look at the operands and what they are for."""
_EXCHANGED: Final = ("__class__", "__dict__", "__code__")
_ITERATED: Final[tuple[Any, ...]] = ([], (), {}, {}.values(), {}.items(), set(), deque(), range(1), "", "\xff", b"")
_ENDING: Final[frozenset[type]] = frozenset(type(iter(each)) for each in _ITERATED) | {type(reversed([]))}
"""Iterators that end by themselves: a loop over one waits for nobody."""
_TURNS: Final = 300
"""So often loops may begin again until it is looked at whether one waits for something."""
_MOST_ROUNDS: Final = 1_000
_MOST_ALIKE: Final = 3
"""So many codes that are equal get steps: code that is compiled in every call never runs again."""
_TYPE: Final = type
_WITH_ITEMS: Final = (Kind.CONTAINER, Kind.FOREIGN, Kind.VIEW)
_REACH: Final = {"shallow": SHALLOW, "now": SHALLOW, "read": DEEP, "whole": WHOLE, "change": WHOLE, "outside": WHOLE}
_OF_ITEMS: Final = ("__setitem__", "__delitem__")
_METHODS: Final = (type(list.append), type(object.__setattr__))
_SUSPENDED: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
