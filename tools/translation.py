"""How Cython translates the modules where its own way would let a call end the process. setup.py applies it.

What modules have in common is compiled once, in a module of its own (`SHARED`).

Two are faults without memory (`append_of_comprehensions`, `return_from_except`). Most others are about internal
functions and classes, which nobody calls so on purpose, but a pickle that names only our modules can. The last one is
for those who forget an argument (`names_of_missing_arguments`).
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from multiprocessing import Process, get_context
from pathlib import Path
from typing import Any

from tools import linking

# What is changed here has no types.
Code: Any
Errors: Any
ExprNodes: Any
Main: Any
ModuleNode: Any
Naming: Any
Nodes: Any
Optimize: Any
Pipeline: Any
PyrexTypes: Any
Symtab: Any
TypeSlots: Any
Code, Errors, ExprNodes, Main, ModuleNode, Naming, Nodes, Optimize, Pipeline, PyrexTypes, Symtab, TypeSlots = (
    import_module(f"Cython.Compiler.{name}")
    for name in (
        *("Code", "Errors", "ExprNodes", "Main", "ModuleNode", "Naming", "Nodes", "Optimize", "Pipeline"),
        *("PyrexTypes", "Symtab", "TypeSlots"),
    )
)


SHARED = "ctrie._shared"
"""The module of the functions that Cython would write into each of the others. All extensions together are 7 % smaller
so."""
NOT_SHARED = ["AutoPickle", "MemoryView"]
"""What no module of ours uses."""


def translate(sources: dict[str, str], modules: list[str], folder: Path, directives: dict[str, Any]) -> None:
    """Write the C of these modules, each from its source, below `folder`. `modules` names all that there are, so that a
    module's C is the same whichever others are translated with it."""
    finish([Process(target=translate_all, args=(sources, modules, folder, directives))] if sources else [])


def finish(processes: list[Any]) -> None:
    """Run processes side by side, and end this one if one of them fails."""
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        sys.exit("subtrie: not all modules could be translated to C; what Cython says stands above")


def translate_all(sources: dict[str, str], modules: list[str], folder: Path, directives: dict[str, Any]) -> None:
    """Write the C of these modules, in a process whose Cython is changed.

    Two thirds of the time would go into declarations: Cython reads those that a module takes from others again for each
    module. So they are read once, and each module is translated in a process that is forked from there.
    """
    apply()
    context = Main.Context.from_options(options(folder, "", directives))
    Errors.reset()
    Errors.open_listing_file(None)
    for name in sorted(modules):
        if name != SHARED:
            context.find_module(name, need_pxd=0)
    if Errors.get_errors_count():
        sys.exit(1)
    largest_first = sorted(sources.items(), key=lambda module: -size_of(module[1]))
    cores = os.cpu_count() or 1
    # Each process has its whole share from the beginning, so none waits for ever for one that was killed.
    shares = [share for first in range(cores) if (share := largest_first[first::cores])]
    process = get_context("fork").Process  # asked for here: installing without extensions needs no such context
    finish([process(target=translate_some, args=(share, folder, directives, context)) for share in shares])


def translate_some(share: list[tuple[str, str]], folder: Path, directives: dict[str, Any], context: Any) -> None:
    """Write the C of some modules, each in a process of its own: Cython does not translate two in one context."""
    for name, source in share:
        finish([get_context("fork").Process(target=translate_one, args=(name, source, folder, directives, context))])


def translate_one(name: str, source: str, folder: Path, directives: dict[str, Any], context: Any) -> None:
    """Write the C of one module."""
    print(f"Translating {source if name != SHARED else 'what all modules share'}", flush=True)
    path = (folder / source).with_suffix(".c")
    path.parent.mkdir(parents=True, exist_ok=True)
    chosen = options(path, name, directives)
    if name == SHARED:
        failed, _ = import_module("Cython.Build.SharedModule").generate_shared_module(chosen)
        if failed:
            raise failed
    else:
        context.options = chosen
        if Main.compile_single(source, chosen, full_module_name=name, context=context).num_errors:
            sys.exit(1)
    if "." in name:
        linking.name_shared(path)


def options(path: Path, name: str, directives: dict[str, Any]) -> Any:
    """Return Cython's options for one module, whose C goes to `path`."""
    chosen: dict[str, Any] = {"shared_utility_qualified_name": SHARED, "output_file": str(path)}
    if name == SHARED:
        chosen = {
            "shared_c_file_path": str(path),
            "module_name": SHARED,
            "shared_utility_features_enabled": None,
            "shared_utility_features_disabled": NOT_SHARED,
        }
    elif name and "." not in name:
        # What is in none of the packages comes before them, and may not import one: the explorer's seam.
        del chosen["shared_utility_qualified_name"]
    return Main.CompilationOptions(
        Main.default_options, include_path=["."], compiler_directives=dict(directives), **chosen
    )


def size_of(source: str) -> int:
    """Return how many bytes a source has; what all share has none, and takes as long as a large one."""
    path = Path(source)
    return path.stat().st_size if path.exists() else 100_000


def apply() -> None:
    """Change the Cython of this process."""
    append_of_comprehensions()
    return_from_except()
    arguments_of_our_classes()
    objects_that_only_we_make()
    indices_of_anything()
    objects_in_a_row()
    names_of_missing_arguments()
    bodies_of_what_is_reached()
    linking.apply()


def bodies_of_what_is_reached() -> None:
    """A module takes the bodies from the declarations that it reaches, not from all that its context has read."""

    def reached(context: Any) -> Any:
        def inject(module: Any) -> Any:
            names = {scope.qualified_name for scope in (module.scope, *module.scope.cimported_modules)}
            for name, (tree, scope) in context.pxds.items():
                if name in names:
                    module.merge_in(tree, scope, stage="pxd")
            return module

        return inject

    Pipeline.inject_pxd_code_stage_factory = reached


# Cython's own body of this helper gives the item's reference back even if the append fails, and the code that calls it
# then gives it back once more: without memory, a list comprehension would free an object that is in use. In this body
# an append that fails leaves the reference to the caller.
LIST_APPEND = ("ListCompAppendAndDecref", "Optimize.c")
LIST_APPEND_BODY = """
static CYTHON_INLINE int __Pyx_ListComp_AppendAndDecref(PyObject* list, PyObject* x) {
#if CYTHON_USE_PYLIST_INTERNALS && CYTHON_ASSUME_SAFE_MACROS && CYTHON_ASSUME_SAFE_SIZE
    if (likely(((PyListObject*) list)->allocated > Py_SIZE(list))) {
        __Pyx__ListComp_AppendAndDecref(list, Py_SIZE(list), x);
        return 0;
    }
#endif
    int failed = PyList_Append(list, x);
    if (likely(!failed)) Py_DECREF(x);
    return failed;
}
"""


def append_of_comprehensions() -> None:
    """An append that fails gives nothing back."""
    Code.UtilityCode.load_cached(*LIST_APPEND).impl = LIST_APPEND_BODY


def return_from_except() -> None:
    """A return from within an except clause gives back all that the function holds, also the exception's traceback.

    Without memory there is none, and Cython's own code would end the process. None stands in its place.
    """
    generate = Nodes.ReturnStatNode.generate_execution_code

    def with_references(self: Any, code: Any) -> None:
        if code.funcstate.exc_vars:
            for name, _ in code.funcstate.temps_holding_reference():
                code.putln(f"if (unlikely(!{name})) {{ Py_INCREF(Py_None); {name} = (void*)Py_None; }}")
        generate(self, code)

    Nodes.ReturnStatNode.generate_execution_code = with_references


def arguments_of_our_classes() -> None:
    """An argument whose annotation names a class of ours has that C type, so a call with anything else is a TypeError.

    It would be a plain object, since types stand in .pxd files, which declare no generators and not all functions.
    A public method that takes an object of a public class says so itself, in a sentence of its own.
    """
    align = Nodes.DefNode.align_argument_type

    def checked(self: Any, env: Any, arg: Any) -> Any:
        arg = align(self, env, arg)
        if arg.type is PyrexTypes.py_object_type and arg.annotation and not self.is_wrapper:
            named = arg.annotation.expr.analyse_as_type(env)
            ours = named is not None and named.is_extension_type and not named.is_builtin_type
            if ours and not (env.is_c_class_scope and self.name[0] != "_" and not is_made_by_us(named.scope)):
                arg.type = arg.inject_type_from_annotations(env)
        return arg

    Nodes.DefNode.align_argument_type = checked


def objects_that_only_we_make() -> None:
    """A class with fields and neither `__init__` nor `__cinit__`, is made by compiled modules alone, which set them.

    `C()` and `C.__new__(C)` from Python would leave None in the fields, which no function looks for. Python passes a
    tuple of arguments, compiled modules pass none at all.
    """
    generate_new = ModuleNode.ModuleNode.generate_new_function
    generate_base = ModuleNode.ModuleNode._generate_allocation_from_basetype
    needs_own = TypeSlots.ConstructorSlot._needs_own
    generate_slot = TypeSlots.ConstructorSlot.generate
    call_new = Optimize.OptimizeBuiltinCalls._handle_any_slot__new__

    def from_python(self: Any, scope: Any, code: Any, cclass_entry: Any) -> None:
        generate_new(self, scope, code, cclass_entry)
        if not (is_made_by_us(scope) or scope.lookup_here("__cinit__")):
            return
        arguments = "PyTypeObject *t, PyObject *a, PyObject *k"
        code.start_slotfunc(scope, PyrexTypes.py_objptr_type, "tp_new_from_python", arguments, needs_prototype=True)
        if is_made_by_us(scope):
            message = "%.200s objects are made by the package alone"
            code.putln(f'if (unlikely(a)) return PyErr_Format(PyExc_TypeError, "{message}", t->tp_name);')
        else:
            code.putln(f"if (!a) a = {code.name_in_slot_module_state(Naming.empty_tuple)};")
        code.putln(f"return {scope.mangle_internal('tp_new')}(t, a, k);")
        code.putln("}")
        code.exit_cfunc_scope()

    def without_arguments(self: Any, scope: Any, code: Any, tp_slot: Any, base_type: Any, call_args: str) -> None:
        has_own = base_type.scope is not None and base_type.scope.lookup_here("__cinit__")
        generate_base(self, scope, code, tp_slot, base_type, call_args if has_own else "NULL, NULL")

    def own(self: Any, scope: Any) -> bool:
        return self.slot_name == "tp_new" or bool(needs_own(self, scope))

    def slot(self: Any, scope: Any, code: Any) -> None:
        if self.slot_name == "tp_new" and (is_made_by_us(scope) or scope.lookup_here("__cinit__")):
            code.putln(f"{scope.mangle_internal('tp_new_from_python')}, /*tp_new*/")
        else:
            generate_slot(self, scope, code)

    def new_of_another_module(self: Any, *given: Any, **options: Any) -> Any:
        node = call_new(self, *given, **options)
        by_slot = isinstance(node, ExprNodes.PythonCapiCallNode) and node.function.cname == "__Pyx_tp_new"
        if by_slot and not node.args[1].args:
            node.args[1] = ExprNodes.NullNode(node.pos, type=node.args[1].type)
        return node

    ModuleNode.ModuleNode.generate_new_function = from_python
    Optimize.OptimizeBuiltinCalls._handle_any_slot__new__ = new_of_another_module
    ModuleNode.ModuleNode._generate_allocation_from_basetype = without_arguments
    TypeSlots.ConstructorSlot._needs_own = own
    TypeSlots.ConstructorSlot.generate = slot
    TypeSlots.TpVectorcallSlot.slot_code = lambda *_: "0"  # it would go past the others


WHOLE = ("ctrie._native.Slot",)  # a slot may hold None


def is_made_by_us(scope: Any) -> bool:
    """Whether a class has fields, and neither it nor a base of it in the same module has a constructor."""
    if (scope.parent_type.base_type is None and not scope.has_pyobject_attrs) or scope.qualified_name in WHOLE:
        return False
    while scope is not None:
        if scope.lookup_here("__cinit__") or scope.lookup_here("__init__"):
            return False
        base = scope.parent_type.base_type
        if base is not None and base.is_builtin_type:
            return False
        scope = base and base.scope
    return True


def indices_of_anything() -> None:
    """An index is checked, unless the type of what it is an index of is declared."""
    parameters = ExprNodes.IndexNode.extra_index_params

    def checked(self: Any, code: Any) -> str:
        given = code.globalstate.directives
        if self.base.type is PyrexTypes.py_object_type:
            code.globalstate.directives = {**given, "boundscheck": True}
        try:
            return str(parameters(self, code))
        finally:
            code.globalstate.directives = given

    ExprNodes.IndexNode.extra_index_params = checked


def objects_in_a_row() -> None:
    """Objects that hold one another in a long row are dropped without recursion on the C stack, as CPython's own are.

    Two kinds need not, and each write drops some. In every row of slots, which the nodes of tries are, too, there are
    C-nodes (`ctrie/c/cnode.h`) or holders of slots. An edit belongs to one call, and nothing holds it.
    """
    given = Symtab.CClassScope.needs_trashcan

    def needs(scope: Any) -> bool:
        kind = scope.parent_type
        while kind is not None and kind.name not in ("Slot", "Edit"):
            kind = kind.base_type
        return bool(given(scope) or (kind is None and scope.has_cyclic_pyobject_attrs and scope.needs_gc()))

    Symtab.CClassScope.needs_trashcan = needs


# Cython's own body tells only how many were given. Here the C text of a function's name goes on with those of its
# arguments, which whoever takes it for a name does not see.
WRONG_NUMBER = ("RaiseArgTupleInvalid", "FunctionArguments.c")
WRONG_NUMBER_BODY = """
static void __Pyx_RaiseArgtupleInvalid(
    const char* names, int exact, Py_ssize_t num_min, Py_ssize_t num_max, Py_ssize_t num_found)
{
    if (num_found < num_min) {
        const char *missing = names;
        for (Py_ssize_t i = 0; i <= num_found; i++) missing += strlen(missing) + 1;
        PyErr_Format(PyExc_TypeError,
                     "%.200s() missing required argument '%.200s' (pos %" CYTHON_FORMAT_SSIZE_T "d)",
                     names, missing, num_found + 1);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "%.200s() takes %.8s %" CYTHON_FORMAT_SSIZE_T "d positional argument%.1s (%"
                     CYTHON_FORMAT_SSIZE_T "d given)",
                     names, exact ? "exactly" : "at most", num_max, (num_max == 1) ? "" : "s", num_found);
    }
}
"""


class Names(str):
    """The name of a function, whose C text goes on with the names of its arguments."""

    __slots__ = ("more",)
    more: tuple[str, ...]

    def as_c_string_literal(self) -> str:
        """Return the C text."""
        return '"' + r"\0".join((self, *self.more)) + '"'


def names_of_missing_arguments() -> None:
    """A call without an argument that it needs is told which, as CPython's own functions tell it."""
    Code.UtilityCode.load_cached(*WRONG_NUMBER).impl = WRONG_NUMBER_BODY
    generate = Nodes.DefNodeWrapper.generate_tuple_and_keyword_parsing_code

    def with_names(self: Any, args: Any, *code: Any) -> None:
        plain, self.name = self.name, Names(self.name)
        self.name.more = tuple(
            arg.name for arg in args if arg.is_generic and not (arg.is_self_arg or arg.is_type_arg or arg.kw_only)
        )
        try:
            generate(self, args, *code)
        finally:
            self.name = plain

    Nodes.DefNodeWrapper.generate_tuple_and_keyword_parsing_code = with_names
