"""What a mutant is, and the names of the modules that mutants change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stress.explorer.scenario import Program
from tests.tries.source_copy import Change


@dataclass(frozen=True)
class Mutant:
    """A fault, by name. `of` is the part that it is in: a target of the explorer, "checker" or "reclaimer". `edits` are
    (module or file, text, replacement). `starts` are the starts that it needs, if others would only waste time.
    `shown_by` is a scenario, as start and calls, if a random search takes long to find the fault.
    """

    name: str
    of: str
    edits: tuple[tuple[str, str, str], ...]
    starts: tuple[str, ...] = ()
    shown_by: tuple[str, Program] | tuple[()] = ()

    @property
    def changes(self) -> list[Change]:
        """The changes of the source."""
        return [Change(self.name, *edit) for edit in self.edits]


NODES: Final = "ctrie._nodes"
EDITS: Final = "ctrie._edits"
CTRIE: Final = "ctrie._ctrie"
DESCENT: Final = "ctrie._descent"
BRANCH: Final = "subtrie._trie.branch"
BULK: Final = "ctrie._bulk"
INDEX: Final = "subtrie._trie.reverse_index"
DUTIES: Final = "subtrie._trie.duties"
INTEREST: Final = "subtrie._trie.interest"
CACHE: Final = "subtrie._trie.match.answer_cache"
TEXT_NODE: Final = "subtrie._trie.packed_key"
MATCHING: Final = "subtrie._trie.match.matching"
INTERLEAVED: Final = "subtrie._trie.match.interleaved"
PATHS: Final = "subtrie._trie.match.reading"
KEYED: Final = "subtrie._trie.keyed"
