"""How a module of the library takes what another one defines: by its name in C, which the linker resolves.

Cython's modules are libraries of their own. Each exports what its .pxd declares as capsules, and each looks up, when it
is imported, every type, variable and function of every .pxd that it reaches, 7,400 for all of ours. Calls go through
pointers. Ours are in one library (`ctrie/c/library.c`), so none of that is needed. A declaration that does not fit is
found as before, since a module is translated again if a .pxd that it reaches has changed.

A module must still have been executed before another takes something from it. It sets a flag at its end. A thread that
sees the flag sees all that the module has set, and a module whose execution failed is executed again.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Code: Any
ModuleNode: Any
Naming: Any
Nodes: Any
Code, ModuleNode, Naming, Nodes = (
    import_module(f"Cython.Compiler.{name}") for name in ("Code", "ModuleNode", "Naming", "Nodes")
)

PACKAGES = ("ctrie", "subtrie")
HIDDEN = 'extern __attribute__((visibility("hidden"))) '
EXECUTED = "__pyx_executed"


def apply() -> None:
    """Change the Cython of this process."""
    functions()
    variables()
    types()
    method_tables()
    modules_taken_from()
    shared_functions()


def is_inside(scope: Any) -> bool:
    """Whether a scope is that of a module of the library."""
    return bool(scope.is_module_scope and scope.qualified_name.partition(".")[0] in PACKAGES)


def is_function_of_all(entry: Any, scope: Any, definition: bool) -> bool:
    """Whether a function has one definition, which other modules call. A .pxd declares private ones, too, for their C
    types. The compiler may inline those, and leaves no other copy of what is called once. If another module called one,
    the library could not be linked."""
    ours = entry.defined_in_pxd and not entry.inline_func_in_pxd and not entry.in_cinclude and is_inside(scope)
    return bool(ours and not (definition and entry.name.startswith("_")))


@contextmanager
def as_if(entry: Any, **values: Any) -> Iterator[None]:
    """Let an entry have other attributes for a while."""
    kept = {name: getattr(entry, name) for name in values}
    for name, value in values.items():
        setattr(entry, name, value)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(entry, name, value)


def functions() -> None:
    """What is for all is not `static` where it is defined, and no pointer elsewhere."""
    declare = ModuleNode.generate_cfunction_declaration
    head = Nodes.CFuncDefNode.generate_function_header

    def declared(entry: Any, env: Any, code: Any, definition: bool) -> None:
        if not is_function_of_all(entry, env, definition):
            declare(entry, env, code, definition)
            return
        modifiers = code.build_function_modifiers(entry.func_modifiers) if definition else ""
        code.putln(f"{HIDDEN}{modifiers}{entry.type.declaration_code(entry.cname)}; /*proto*/")
        code.globalstate.use_entry_utility_code(entry)

    def defined(self: Any, code: Any, *given: Any, **options: Any) -> None:
        ours = is_function_of_all(self.entry, self.entry.scope, definition=True)
        with as_if(self.entry, visibility="hidden" if ours else self.entry.visibility):
            head(self, code, *given, **options)

    ModuleNode.generate_cfunction_declaration = declared
    Nodes.CFuncDefNode.generate_function_header = defined
    ModuleNode.ModuleNode.generate_c_function_export_code = unless_inside(
        ModuleNode.ModuleNode.generate_c_function_export_code
    )


def unless_inside(method: Any) -> Any:
    """Return a method of a module's node that does nothing for a module of the library."""

    def outside(self: Any, env: Any, code: Any) -> None:
        if not is_inside(env):
            method(self, env, code)

    return outside


def variables() -> None:
    """A variable that a .pxd declares is the same one in each module. (The explorer sets one by its export.)"""
    declare = ModuleNode.ModuleNode.generate_cvariable_declarations

    def declared(self: Any, env: Any, code: Any, definition: bool) -> None:
        ours = [entry for entry in env.var_entries if entry.defined_in_pxd and not entry.in_cinclude and is_inside(env)]
        for entry in ours:
            declaration = entry.type.declaration_code(entry.cname)
            code.putln(f"{HIDDEN}{declaration};")
            if definition:
                first = "" if entry.init is None else f" = {entry.type.literal_code(entry.init)}"
                code.putln(f"{declaration}{first};")
            code.globalstate.use_entry_utility_code(entry)
            entry.in_cinclude = True
        try:
            declare(self, env, code, definition)
        finally:
            for entry in ours:
                entry.in_cinclude = False

    ModuleNode.ModuleNode.generate_cvariable_declarations = declared


def types() -> None:
    """A type is one object of its module, which others take by its name."""
    define = ModuleNode.ModuleNode.generate_typeobj_definition
    take = ModuleNode.ModuleNode.generate_type_import_call

    def defined(self: Any, modname: Any, entry: Any, code: Any) -> None:
        ours = entry.defined_in_pxd and is_inside(self.scope)
        with as_if(entry, visibility="public" if ours else entry.visibility):
            define(self, modname, entry, code)

    def taken(self: Any, kind: Any, code: Any, generator: Any, *, error_pos: Any) -> None:
        if kind.module_name.partition(".")[0] not in PACKAGES:
            take(self, kind, code, generator, error_pos=error_pos)
            return
        ensure_executed(self.scope, kind.module_name, code, error_pos)
        name = kind.typeptr_cname.replace(Naming.typeptr_prefix, Naming.typeobj_prefix, 1)
        code.globalstate["module_declarations"].putln(f"{HIDDEN}PyTypeObject {name};")
        code.putln(f"{code.name_in_main_c_code_module_state(kind.typeptr_cname)} = &{name};")

    ModuleNode.ModuleNode.generate_typeobj_definition = defined
    ModuleNode.ModuleNode.generate_type_import_call = taken


def method_tables() -> None:
    """A type's table of C methods is one of its module, too, which others take by its name."""
    define = ModuleNode.ModuleNode.generate_exttype_vtable
    declare = ModuleNode.ModuleNode.generate_exttype_vtabptr_declaration
    take = ModuleNode.ModuleNode.generate_type_import_code

    def table(kind: Any) -> str:
        return str(kind.vtabptr_cname.replace(Naming.vtabptr_prefix, Naming.vtable_prefix, 1))

    def defined(self: Any, scope: Any, code: Any) -> None:
        kind = scope.parent_type
        if kind.vtable_cname and kind.entry.defined_in_pxd and is_inside(self.scope):
            code.putln(f"struct {kind.vtabstruct_cname} {kind.vtable_cname};")
        else:
            define(self, scope, code)

    def declared(self: Any, entry: Any, code: Any) -> None:
        kind = entry.type
        if not (kind.vtabptr_cname and kind.module_name and kind.module_name.partition(".")[0] in PACKAGES):
            declare(self, entry, code)
            return
        if entry.defined_in_pxd:
            code.putln(f"{HIDDEN}struct {kind.vtabstruct_cname} {table(kind)};")
        if kind.vtable_cname:
            declare(self, entry, code)
        elif entry.used:
            code.putln(f"#define {kind.vtabptr_cname} (&{table(kind)})")

    def taken(self: Any, env: Any, kind: Any, pos: Any, code: Any, generator: Any) -> None:
        ours = kind.module_name.partition(".")[0] in PACKAGES
        with as_if(kind, vtabptr_cname=None if ours else kind.vtabptr_cname):
            take(self, env, kind, pos, code, generator)

    ModuleNode.ModuleNode.generate_exttype_vtable = defined
    ModuleNode.ModuleNode.generate_exttype_vtabptr_declaration = declared
    ModuleNode.ModuleNode.generate_type_import_code = taken


def ensure_executed(scope: Any, module: str, code: Any, pos: Any) -> None:
    """Write once that a module is executed before the one of `scope` goes on."""
    before = vars(scope).setdefault("executed_before", {scope.qualified_name})
    if module in before:
        return
    before.add(module)
    flag = f"{EXECUTED}_{module.replace('.', '_')}"
    code.globalstate["module_declarations"].putln(f"{HIDDEN}char {flag};")
    code.globalstate["module_declarations"].putln(f"{HIDDEN}int library_execute(const char *module);")
    executed = f"__atomic_load_n(&{flag}, __ATOMIC_ACQUIRE)"
    code.putln(f'if (unlikely(!{executed}) && unlikely(library_execute("{module}") < 0)) {code.error_goto(pos)}')


def modules_taken_from() -> None:
    """Where others would look up functions and variables, a module only ensures that theirs has been executed."""
    node = ModuleNode.ModuleNode
    take_variables = node.generate_c_variable_import_code_for_module
    take_functions = node.generate_c_function_import_code_for_module
    end = node.generate_wrapped_entries_code

    def variables_taken(self: Any, module: Any, env: Any, code: Any) -> None:
        if not is_inside(module) or module is env:
            take_variables(self, module, env, code)
        elif self._select_imported_entries(module.var_entries):
            ensure_executed(env, module.qualified_name, code, self.pos)

    def functions_taken(self: Any, module: Any, env: Any, code: Any) -> None:
        if not is_inside(module) or module is env:
            take_functions(self, module, env, code)
        elif self._select_imported_entries(module.cfunc_entries, used_only=True):
            ensure_executed(env, module.qualified_name, code, self.pos)

    def ended(self: Any, env: Any, code: Any) -> None:
        end(self, env, code)
        if self.full_module_name.partition(".")[0] in PACKAGES:
            flag = f"{EXECUTED}_{self.full_module_name.replace('.', '_')}"
            code.globalstate["module_declarations"].putln(f"{HIDDEN}char {flag}; char {flag};")
            code.putln(f"__atomic_store_n(&{flag}, 1, __ATOMIC_RELEASE);")

    node.generate_c_variable_import_code_for_module = variables_taken
    node.generate_c_function_import_code_for_module = functions_taken
    node.generate_wrapped_entries_code = ended


def shared_functions() -> None:
    """Cython's own helpers, which have a module of theirs, are neither exported nor looked up. See `name_shared`."""

    def taken(self: Any, code: Any, _: Any) -> None:
        name = str(self.scope.context.shared_utility_qualified_name)
        ensure_executed(self.scope, name, code, self.pos)

    exporter = ModuleNode.SharedUtilityExporter
    exporter._generate_c_shared_function_export_code = lambda *_: None
    exporter._generate_c_shared_function_import_code_for_module = taken


def name_shared(path: Path) -> None:
    """Let a module's C text define shared functions for all, or call them by their names.

    They are changed in the text, since the class that writes them is compiled.
    """
    name = f"({'|'.join(shared_names())})"
    text = path.read_text(encoding="utf-8")
    text = re.sub(rf"^(CYTHON_UNUSED |)static (?=[\w\s*]*\b{name}\()", r"\1", text, flags=re.MULTILINE)
    pointer = rf"^static ([\w *]*)\(\*{name}\)(\(.*\); /\*proto\*/)$"
    path.write_text(re.sub(pointer, rf"{HIDDEN}\1 \2\3", text, flags=re.MULTILINE), encoding="utf-8")


@cache
def shared_names() -> list[str]:
    """Return the names of all functions that modules may share."""
    found = import_module("Cython.Build.SharedModule")._iter_exports()
    texts = [Code.UtilityCode.load_cached(name, file).export for _, name, file in found]
    return sorted({name for text in texts for name in re.findall(r"(\w+)\([^()]*\)", text)})
