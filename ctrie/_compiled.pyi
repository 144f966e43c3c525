from importlib.machinery import ModuleSpec
from types import ModuleType

NAMES: frozenset[str]

def create(spec: ModuleSpec) -> ModuleType: ...
def execute(module: ModuleType) -> None: ...
