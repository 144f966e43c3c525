"""The compiled body of buffers.py, which is the text to read: no Python object is made of a row."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, int32_t
from libc.string cimport memchr, memcmp

from ctrie._nodes cimport hash_of as CTRIE_HASH
from subtrie._trie.branch cimport Branch
from subtrie._trie.packed_key cimport characters, packed_characters, text_of as SUBTRIE_TEXT
from subtrie._trie.words cimport MARKED

from collections import namedtuple

cdef extern from "columns.h":
    char *growing_room(growing *g, Py_ssize_t more) except NULL
    void growing_free(growing *g)
    int growing_add(growing *g, const char *data, Py_ssize_t size) except -1
    int growing_add_int(growing *g, int32_t number) except -1
    int growing_add_bit(growing *g, Py_ssize_t at, bint bit) except -1
    int growing_add_text(growing *g, characters c) except -1
    int growing_add_digits(growing *g, long long number) except -1
    bint is_integer_text(characters c)
    characters characters_of(object string)
    bint flag_taken(char *flag)
    void flag_given(char *flag)

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1

STRINGS = 1
INTEGER_TEXTS = 2
INTEGERS = 4
OTHERS = 8

cdef enum:
    _STRINGS = 1
    _INTEGER_TEXTS = 2
    _INTEGERS = 4
    _OTHERS = 8

TextColumn = namedtuple("TextColumn", "offsets text")
MapColumn = namedtuple("MapColumn", "offsets validity names values values_validity nulls value_nulls")
Columns = namedtuple(
    "Columns",
    "rows filters word_lists words depths wildcards subscribers options groups group_validity ungrouped",
)


# ------------------------------------------------------------------------------------------------- columns of one kind


cdef object _taken(growing *g):
    taken = PyBytes_FromStringAndSize(g.data, g.used)
    g.used = 0
    return taken


cdef object _taken_offsets(growing *g):
    taken = _taken(g)
    growing_add_int(g, 0)
    return taken


cdef object _taken_texts(text_column *column):
    return TextColumn(_taken_offsets(&column.offsets), _taken(&column.text))


cdef tuple _taken_bits(bit_column *column):
    clear = column.clear
    column.count = column.clear = 0
    taken = _taken(&column.bits)
    return (None, 0) if clear == 0 else (taken, clear)


cdef inline int _end_text(text_column *column) except -1:
    if column.text.used > INT32_MAX:
        raise ValueError("the texts of one subscription take more than 2 GiB, which no column holds")
    return growing_add_int(&column.offsets, <int32_t>column.text.used)


cdef inline int _add_bytes(growing *g, bytes text) except -1:
    return growing_add(g, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef inline int _add_bit(bit_column *column, bint bit) except -1:
    growing_add_bit(&column.bits, column.count, bit)
    column.count += 1
    column.clear += not bit
    return 0


cdef void _free_texts(text_column *column) noexcept:
    growing_free(&column.offsets)
    growing_free(&column.text)


# --------------------------------------------------------------------------------------------------------------- options


cdef class Options:
    """A column of options being filled."""

    def __init__(self, texts):
        self._texts = texts
        self.kinds = {}
        growing_add_int(&self._offsets, 0)
        growing_add_int(&self._names.offsets, 0)
        growing_add_int(&self._values.offsets, 0)

    def __dealloc__(self):
        growing_free(&self._offsets)
        growing_free(&self._validity.bits)
        growing_free(&self._values_validity.bits)
        _free_texts(&self._names)
        _free_texts(&self._values)

    cpdef int add(self, dict options, bint there) except -1:
        if options is not None:
            for name, value in options.items():
                if type(name) is not str:
                    name = str.__str__(name)
                if growing_add_text(&self._names.text, characters_of(name)) == 1:
                    self._texts.option(name, value)
                    raise ValueError(f"the name of option {name!r} is no text")
                _end_text(&self._names)
                self._add_value(name, value)
        growing_add_int(&self._offsets, <int32_t>self._values_validity.count)
        return _add_bit(&self._validity, there)

    cdef int _add_value(self, object name, object value) except -1:
        cdef int known = self.kinds.get(name, -1)
        cdef int kind
        cdef int overflow = 0
        cdef long long number
        cdef bint there = True
        if value is None:
            kind = 0
            there = False
        elif type(value) is str and growing_add_text(&self._values.text, characters_of(value)) == 0:
            kind = _STRINGS
        elif value is True:
            kind = _INTEGERS
            growing_add(&self._values.text, b"true", 4)
        elif value is False:
            kind = _INTEGERS
            growing_add(&self._values.text, b"false", 5)
        else:
            kind = _OTHERS
            if type(value) is int:
                kind = _INTEGERS
                number = PyLong_AsLongLongAndOverflow(value, &overflow)
                if overflow == 0:
                    growing_add_digits(&self._values.text, number)
            if kind == _OTHERS or overflow != 0:
                there = self._add_asked(name, value)
        _end_text(&self._values)
        _add_bit(&self._values_validity, there)
        if known < 0 or known | kind != known:
            self.kinds[name] = kind | (0 if known < 0 else known)
        return 0

    def _add_asked(self, name, value):
        text = self._texts.option(name, value)
        if text is None:
            return False
        _add_bytes(&self._values.text, text.encode())
        return True

    cpdef Py_ssize_t text(self) noexcept:
        return self._names.text.used + self._values.text.used

    def taken(self):
        """Return what has been added, and begin again."""
        offsets = _taken_offsets(&self._offsets)
        validity, nulls = _taken_bits(&self._validity)
        values_validity, value_nulls = _taken_bits(&self._values_validity)
        names, values = _taken_texts(&self._names), _taken_texts(&self._values)
        return MapColumn(offsets, validity, names, values, values_validity, nulls, value_nulls)


# ------------------------------------------------------------------------------------------------------------------ rows


cdef class Rows:
    """Rows being filled."""

    def __init__(self, dialect, texts, bint ask):
        cdef bytes separator = dialect.separator.encode()
        self._dialect = dialect
        self._texts = texts
        self._ask = ask
        self.options = Options(texts)
        self._separator.size = len(separator)
        for at in range(len(separator)):
            self._separator.data[at] = PyBytes_AS_STRING(separator)[at]
        self._one = dialect.one_word.encode()
        self._many = (dialect.many_words or dialect.one_word).encode()
        self._share = None if dialect.share_prefix is None else dialect.share_prefix.encode()
        self._zero_words = dialect.zero_words
        growing_add_int(&self._filters.offsets, 0)
        growing_add_int(&self._words.offsets, 0)
        growing_add_int(&self._word_lists, 0)
        growing_add_int(&self._subscribers.offsets, 0)
        growing_add_int(&self._groups.offsets, 0)

    def __dealloc__(self):
        growing_free(&self._places)
        growing_free(&self._spelled)
        growing_free(&self._ends)
        growing_free(&self._word_lists)
        growing_free(&self._depths)
        growing_free(&self._wildcards)
        growing_free(&self._grouped.bits)
        _free_texts(&self._filters)
        _free_texts(&self._words)
        _free_texts(&self._subscribers)
        _free_texts(&self._groups)

    cpdef int begin(self) except -1:
        if flag_taken(&self._busy):
            raise RuntimeError("these columns are being filled by another thread, or an error has left them half filled")
        return 0

    cpdef int done(self) except -1:
        flag_given(&self._busy)
        return 0

    cdef int push(self) except -1:
        return growing_add(&self._places, <const char *>&self._here, sizeof(place))

    cdef int pop(self) except -1:
        self._places.used -= sizeof(place)
        self._here = (<place *>(self._places.data + self._places.used))[0]
        self._spelled.used = self._here.end
        self._ends.used = self._here.depth * <Py_ssize_t>sizeof(int32_t)
        return 0

    cdef int spell(self, Branch branch) except -1:
        cdef characters text = packed_characters(SUBTRIE_TEXT(<PyObject *>branch))
        if branch.hash == MARKED:
            if text.length == 0:
                return 0
            text.data += text.kind      # the separator after the mark
            text.length -= 1
        if self._here.depth > 0:
            growing_add(&self._spelled, self._separator.data, self._separator.size)
        start = self._spelled.used
        if growing_add_text(&self._spelled, text) == 1:
            raise ValueError("a filter with a lone surrogate")
        return self._add_words(start)

    def spell_text(self, str filter):
        """Go to where a filter ends."""
        self._spelled.used = self._ends.used = 0
        self._here.depth = self._here.wildcards = 0
        if growing_add_text(&self._spelled, characters_of(filter)) == 1:
            raise ValueError("a filter with a lone surrogate")
        self._add_words(0)

    cdef int _add_words(self, Py_ssize_t start) except -1:
        """Note where the words end that have been spelled from `start` on, and how many are wildcards."""
        cdef const char *text = self._spelled.data
        cdef Py_ssize_t stop = self._spelled.used
        cdef Py_ssize_t step = self._separator.size
        cdef Py_ssize_t size
        cdef const char *found
        while True:
            found = <const char *>_find(text + start, stop - start, self._separator.data, step)
            size = stop - start if found == NULL else found - (text + start)
            growing_add_int(&self._ends, <int32_t>(start + size))
            self._here.depth += 1
            self._here.wildcards += _is_same(text + start, size, self._one) or _is_same(text + start, size, self._many)
            if found == NULL:
                break
            start += size + step
        self._here.end = stop
        return 0

    cpdef int row(self, object group, bint shared, object subscriber, dict options) except -1:
        cdef const int32_t *ends = <const int32_t *>self._ends.data
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t step = self._separator.size
        cdef int32_t depth = self._here.depth
        cdef bytes name = None
        if group is not None:
            name = group.encode()
        if name is not None and shared and self._share is not None:
            for part in (self._share, name):
                _add_bytes(&self._filters.text, part)
                growing_add(&self._filters.text, self._separator.data, step)
                _add_bytes(&self._words.text, part)
                _end_text(&self._words)
            depth += 2
        elif self._zero_words and self._here.end == 0:
            depth = 0
        growing_add(&self._filters.text, self._spelled.data, self._here.end)
        _end_text(&self._filters)
        if depth > 0:
            for at in range(self._here.depth):
                growing_add(&self._words.text, self._spelled.data + start, ends[at] - start)
                _end_text(&self._words)
                start = ends[at] + step
        growing_add_int(&self._word_lists, <int32_t>(self._words.offsets.used // <Py_ssize_t>sizeof(int32_t) - 1))
        growing_add_int(&self._depths, depth)
        growing_add_int(&self._wildcards, self._here.wildcards)
        self._add_subscriber(subscriber)
        if name is not None:
            _add_bytes(&self._groups.text, name)
        _end_text(&self._groups)
        _add_bit(&self._grouped, name is not None)
        self.options.add(options, True)
        self.rows += 1
        return 0

    cdef int _add_subscriber(self, object subscriber) except -1:
        cdef int overflow = 0
        cdef long long number
        cdef characters text
        if not self._ask and type(subscriber) is str:
            text = characters_of(subscriber)
            if growing_add_text(&self._subscribers.text, text) == 0:
                self.kinds |= _STRINGS
                if not self.kinds & _INTEGER_TEXTS and is_integer_text(text):
                    self.kinds |= _INTEGER_TEXTS
                return _end_text(&self._subscribers)
        elif not self._ask and type(subscriber) is int:
            number = PyLong_AsLongLongAndOverflow(subscriber, &overflow)
            self.kinds |= _INTEGERS
            if overflow == 0:
                growing_add_digits(&self._subscribers.text, number)
            else:
                _add_bytes(&self._subscribers.text, int.__repr__(subscriber).encode())
            return _end_text(&self._subscribers)
        self.kinds |= _OTHERS
        _add_bytes(&self._subscribers.text, self._texts.subscriber(subscriber).encode())
        return _end_text(&self._subscribers)

    cpdef Py_ssize_t text(self) noexcept:
        return self._filters.text.used + self._subscribers.text.used + self.options.text()

    def taken(self):
        """Return the columns of the rows added, and begin again."""
        self.begin()
        validity, ungrouped = _taken_bits(&self._grouped)
        columns = Columns(
            self.rows,
            _taken_texts(&self._filters),
            _taken_offsets(&self._word_lists),
            _taken_texts(&self._words),
            _taken(&self._depths),
            _taken(&self._wildcards),
            _taken_texts(&self._subscribers),
            self.options.taken(),
            _taken_texts(&self._groups),
            validity,
            ungrouped,
        )
        self.rows = 0
        self.done()
        return columns


cdef inline const void *_find(const char *text, Py_ssize_t size, const char *separator, Py_ssize_t step) noexcept:
    cdef const char *found = text
    cdef const char *end = text + size
    while True:
        found = <const char *>memchr(found, separator[0], end - found)
        if found == NULL or step == 1 or (end - found >= step and memcmp(found, separator, step) == 0):
            return found
        found += 1


cdef inline bint _is_same(const char *text, Py_ssize_t size, bytes word) noexcept:
    return size == PyBytes_GET_SIZE(word) and memcmp(text, PyBytes_AS_STRING(word), size) == 0


cpdef Rows new_rows(object dialect, object texts, bint ask):
    return Rows(dialect, texts, ask)


cpdef list strings(const unsigned char[::1] offsets, const unsigned char[::1] text):
    """Return the texts of a column."""
    cdef Py_ssize_t rows = offsets.shape[0] // <Py_ssize_t>sizeof(int32_t) - 1
    cdef Py_ssize_t size = text.shape[0]
    cdef const int32_t *ends
    cdef const char *content = b""
    cdef int32_t start
    if rows < 0:
        raise ValueError("no text column: it has no offsets")
    ends = <const int32_t *>&offsets[0]
    if size > 0:
        content = <const char *>&text[0]
    start = ends[0]
    found = []
    for at in range(1, rows + 1):
        if start < 0 or ends[at] < start or ends[at] > size:
            raise ValueError("no text column: the offsets do not go on within the text")
        found.append(PyUnicode_DecodeUTF8(content + start, ends[at] - start, NULL))
        start = ends[at]
    return found
