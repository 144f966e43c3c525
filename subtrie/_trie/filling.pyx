"""The compiled body of filling.py, which is the text to read."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp

from ctrie._arrays cimport flag_at
from ctrie._bulk cimport Ordered, cnode_of, hashed_pair, let_go, pairs_new, sort_level
from ctrie._cnode cimport CNode, Gen, MainNode, new_cnode
from ctrie._nodes cimport INode, Root, gcas_read, new_inode, rdcss_read_root, rdcss_root, two_snodes
from subtrie._trie.branch cimport Branch, blank_branch, filled_branch
from subtrie._trie.match.questions cimport Matchable, Plan, words_in_filter
from subtrie._trie.match.traversal cimport MOST_WORDS, prefetch
from subtrie._trie.packed_key cimport set_characters
from subtrie._trie.subscribers cimport Entry, find_entry, new_entry, subscriber_hash, with_entry
from subtrie._trie.words cimport word

from ctrie._bulk import collector_paused

cdef extern from *:
    const char *ascii_of "(const char *)PyUnicode_1BYTE_DATA" (object text)

cdef struct Word:
    uint64_t hash
    uint32_t start              # in its filter
    uint32_t end

cdef struct Row:
    const char *text            # of its filter, which `given` keeps
    PyObject *entry
    Py_ssize_t size
    Word words[MOST_WORDS]      # `size` of them, and no room for more

cdef enum:
    CHUNK = 1 << 20             # bytes of rows that are asked for at a time
    AHEAD = 16


class _OneByOne(Exception):
    """Something is to be looked at one by one."""


def fill(Matchable trie, list given):
    """Subscribe all of `given` if the trie is empty; see filling.py."""
    cdef Root root = trie._root
    cdef INode old = rdcss_read_root(root)
    cdef MainNode main = gcas_read(root, old)
    cdef Filling filling
    if (<CNode>main).bitmap != 0 or PyList_GET_SIZE(given) == 0:
        return -1
    with collector_paused():
        filling = Filling(trie, list(given))
        try:
            filled = filling.whole()
        except _OneByOne:
            return -1
        return filling.count - filling.repeated if rdcss_root(root, old, main, filled) else -1


cdef inline bint _is_same(Row *one, Row *other, Py_ssize_t size) noexcept:
    """Tell whether the first words of two filters are the same."""
    cdef uint32_t end = one.words[size - 1].end
    return one == other or (end == other.words[size - 1].end and not memcmp(one.text, other.text, end))


cdef class Filling:
    cdef Plan plan
    cdef object dialect
    cdef list given, entries
    cdef list chunks            # of memory, for rows
    cdef char *free             # in the last one, and how much there is
    cdef Py_ssize_t left
    cdef Py_ssize_t count, repeated
    cdef Ordered ordered        # rows in the places of pairs
    cdef Ordered room
    cdef Gen gen

    def __cinit__(self, Matchable trie, list given):
        self.plan = trie._plan
        self.dialect = trie._plan.dialect
        self.given = given      # ours: it keeps the filters
        self.entries = []
        self.chunks = []
        self.left = 0
        self.count = PyList_GET_SIZE(given)
        self.repeated = 0
        self.gen = Gen()
        self.ordered = pairs_new(self.count)
        self.room = pairs_new(self.count)
        if not (self.ordered and self.room):
            raise MemoryError()

    def __dealloc__(self):
        let_go(self.ordered)
        let_go(self.room)

    cdef INode whole(self):
        cdef Py_ssize_t i
        for i in range(self.count):
            self.ordered[i].pair = <PyObject *>self._read(self.given[i])
        return self._level(0, self.count, 0, NULL)

    cdef Row *_new_row(self) except NULL:
        """Return room for a row; what its words leave is given back."""
        if self.left < <Py_ssize_t>sizeof(Row):
            chunk = bytearray(CHUNK)
            self.chunks.append(chunk)
            self.free = PyByteArray_AS_STRING(chunk)
            self.left = CHUNK
        return <Row *>self.free

    cdef Row *_read(self, object one) except NULL:
        cdef Row *row = self._new_row()
        cdef Py_ssize_t parts, used
        cdef dict options = None
        cdef Entry entry
        parts = len(<tuple>one) if type(one) is tuple else 0
        if parts != 2 and parts != 3:
            raise _OneByOne
        if parts == 3 and (<tuple>one)[2] is not None:
            if type((<tuple>one)[2]) is not dict:
                raise _OneByOne
            options = self._checked_options((<tuple>one)[2])
        subscriber = (<tuple>one)[1]
        self._split(row, (<tuple>one)[0])
        used = <char *>&row.words[row.size] - <char *>row
        self.free += used
        self.left -= used
        if options:
            self.dialect.check_options(options)
        entry = new_entry(subscriber, subscriber_hash(subscriber), options)
        self.entries.append(entry)
        row.entry = <PyObject *>entry
        return row

    cdef dict _checked_options(self, dict options):
        if not options:
            return None
        for name in options:
            if not PyUnicode_CheckExact(name):
                raise _OneByOne
        if self.dialect.queue_groups and "queue" in options:
            raise _OneByOne
        return dict(options)

    cdef int _split(self, Row *row, object filter) except -1:
        cdef word words[MOST_WORDS]
        cdef Py_ssize_t i
        row.size = words_in_filter(self.plan, filter, words)
        if row.size <= 0:
            raise _OneByOne
        row.text = ascii_of(filter)
        for i in range(row.size):
            row.words[i].hash = words[i].hash
            row.words[i].start = <uint32_t>(words[i].data - row.text)
            row.words[i].end = <uint32_t>(row.words[i].start + words[i].length)
        return 0

    cdef inline Row *_row(self, Py_ssize_t i) noexcept:
        return <Row *>self.ordered[i].pair

    cdef INode _level(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth, Row *above):
        """Return the level for the words from number `depth` on; `above` is a row that has the words before them. By
        their hashes all have: the texts are compared here for one row of each branch, and elsewhere for those that
        end at it."""
        cdef Ordered ordered = self.ordered
        cdef list made = []
        cdef Py_ssize_t i
        cdef uint64_t hash
        for i in range(start, end):
            prefetch(&(<Row *>ordered[i + AHEAD].pair).words[depth])     # which is NULL past the last one
            ordered[i].hash = self._row(i).words[depth].hash
        sort_level(ordered + start, self.room, end - start, 0)
        while start < end:
            hash = ordered[start].hash
            i = start + 1
            while i < end and ordered[i].hash == hash:
                i += 1
            if depth and not _is_same(above, self._row(start), depth):
                raise _OneByOne         # two words of one hash
            made.append(self._branch(start, i, depth, hash))
            start = i
        return new_inode(self._main(made), self.gen)

    cdef Branch _branch(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth, uint64_t hash):
        cdef Row *first = self._row(start)
        cdef Row *row
        cdef Py_ssize_t i, kept = start, stop = depth + 1
        cdef object audience = None
        cdef INode below = None
        cdef Branch branch
        while stop < first.size and self._agree(start, end, stop):
            stop += 1
        for i in range(start, end):
            row = self._row(i)
            if row.size == stop:
                if not _is_same(first, row, stop):
                    raise _OneByOne
                audience = self._joined(audience, <Entry>row.entry)
            else:
                self.ordered[kept].pair = <PyObject *>row
                kept += 1
        if kept > start:
            below = self._level(start, kept, stop, first)
        branch = blank_branch(stop > depth + 1, audience, below)
        set_characters(
            branch, first.text + first.words[depth].start, first.words[stop - 1].end - first.words[depth].start
        )
        return filled_branch(branch, hash, audience, below)

    cdef inline bint _agree(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth) noexcept:
        """Tell whether the words number `depth` of these have one hash."""
        cdef uint64_t hash = self._row(start).words[depth].hash
        cdef Py_ssize_t i
        for i in range(start + 1, end):
            if self._row(i).size <= depth or self._row(i).words[depth].hash != hash:
                return False
        return True

    cdef object _joined(self, object audience, Entry entry):
        cdef Entry present
        if audience is None:
            return entry
        present = find_entry(audience, entry.subscriber, entry.hash)
        if present is None:
            return with_entry(audience, entry, None)
        self.repeated += 1
        if present.options is None and entry.options is None:
            return audience
        return with_entry(audience, new_entry(present.subscriber, entry.hash, entry.options), present)

    cdef MainNode _main(self, list made):
        cdef Branch branch = made[0]
        cdef Py_ssize_t i, size = PyList_GET_SIZE(made)
        cdef Ordered ordered
        if size == 1:
            return new_cnode(flag_at(branch.hash, 0), (branch,))
        if size == 2:
            return two_snodes(branch, made[1], 0, self.gen)
        ordered = pairs_new(size)
        if ordered == NULL:
            raise MemoryError()
        try:
            for i in range(size):
                ordered[i].pair = <PyObject *>made[i]
                ordered[i].hash = (<Branch>made[i]).hash
            return cnode_of(ordered, 0, size, 0, self.gen, None)
        finally:
            let_go(ordered)
