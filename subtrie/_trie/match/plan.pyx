# distutils: extra_compile_args = FAST
"""What matching needs of a dialect, as C values; and texts whose words are found and hashed in place.

The compiled body of plan.py. Topics and filters that need no second look (ASCII characters, one of the dialects whose
methods are those of `Dialect`) are split without a string object for any word. All others are split by the dialect's own
methods.
"""

import os

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcpy

from subtrie._trie.match.reading cimport Query, new_query
from subtrie._trie.match.walk cimport MOST_WORDS, Traversal
from subtrie._trie.words cimport (
    MANY_WORDS, ONE_WORD, repeated, word, word_is_word, word_of_string, word_rules, word_secret, words_split
)

from subtrie.dialects import Dialect

cdef extern from "interpreter.h":
    bint is_ascii_in_place(PyObject *text)
    const char *ascii_of(PyObject *text)

cdef extern from *:
    """
    static inline PyObject *ascii_word(const word *w)
    {
        if (w->length == 1) {
            return PyUnicode_FromOrdinal(w->data[0]);   /* which has one object for each */
        }
        PyObject *string = PyUnicode_New(w->length, 127);
        if (string != NULL && w->length > 0) {
            memcpy(PyUnicode_1BYTE_DATA(string), w->data, (size_t)w->length);
        }
        return string;
    }
    """
    Py_ssize_t length_of "PyUnicode_GET_LENGTH" (PyObject *text)
    object ascii_word(const word *w)
    object PyTuple_New(Py_ssize_t size)
    void PyTuple_SET_ITEM_PTR "PyTuple_SET_ITEM" (object array, Py_ssize_t i, PyObject *stolen)

cdef enum:
    MOST_SPECIALS = 8

cdef bytes _secret = os.urandom(16)
memcpy(word_secret, <const char *>_secret, 16)


cpdef uint64_t word_hash(str word) except? 0:
    """Return the hash of a word that is no wildcard."""
    if word is None:
        raise TypeError("a word must be a str, not NoneType")
    return word_of_string(<PyObject *>word).hash


cdef word word_for(PyObject *string) noexcept:
    """Return a word that is no wildcard, for modules that do not have the secret of its hash."""
    return word_of_string(string)


cdef class Plan:
    """What matching needs of a dialect, as C values, and whether the trie is one with `exact=True` (exact_layout.py)."""

    def __cinit__(self, dialect, bint exact):
        special = set(dialect.forbidden)
        if not dialect.wildcards_in_topics:
            special.update(wildcard[0] for wildcard in (dialect.one_word, dialect.many_words) if wildcard)
        prefix = dialect.reserved_prefix
        wild = [dialect.one_word, dialect.many_words or dialect.one_word]
        self.dialect = dialect
        self.exact = exact
        self.separator = dialect.separator
        self.in_place = len(special) <= MOST_SPECIALS and all(
            len(c) == 1 and c.isascii() for c in [dialect.separator, prefix or "$", *wild]
        )
        self.splits = self.in_place and all(
            getattr(type(dialect), name) is getattr(Dialect, name) for name in ("split_filter", "split_topic")
        )
        self.reserved = ord(prefix) if self.in_place and prefix is not None else -1
        self.in_topics = _rules(dialect, special)
        self.in_filters = _rules(dialect, set(dialect.forbidden))
        self.separator_in_place = ord(dialect.separator)
        self.one, self.many = [ord(c) for c in wild] if self.in_place else (0, 0)
        self.many_last = dialect.many_last
        self.wildcards_in_words = dialect.wildcards_in_words
        self.share = dialect.share_prefix
        self.shares = all(getattr(type(dialect), name) is getattr(Dialect, name) for name in ("join", "share"))
        self.unites = dialect.queue_groups
        self.many_min = dialect.many_min
        self.max_bytes = dialect.max_bytes
        self.most = min(MOST_WORDS, dialect.max_words)
        self.most_in_filter = min(self.most, dialect.max_wildcards)

    def hash_in_filter(self, str w):
        """Return the hash of a word where it stands in a filter."""
        return hash_in_filter(self.dialect, w)


cdef word_rules _rules(dialect, special) except *:
    cdef word_rules rules
    rules.separators = repeated(ord(dialect.separator[0]))
    rules.empty_ordinary = dialect.empty_words
    rules.special_count = 0
    for c in special:
        if c.isascii() and rules.special_count < MOST_SPECIALS:
            rules.specials[rules.special_count] = repeated(ord(c))
            rules.special_count += 1
    return rules


cdef class Matchable:
    """What a topic is matched against: a trie's root, the plan of its dialect, and what is remembered of it."""


cpdef tuple filter_path(Matchable trie, object filter):
    """Return the words of a filter, never none (reading.py on the filter of no words), and their hashes; for a trie
    with `exact=True` the whole text as one word, where no more is to be seen to."""
    cdef PyObject *plan = <PyObject *>trie._plan     # borrowed from the trie
    return path_by(<Plan>plan, filter)


cdef bint is_plain_filter(Matchable trie, object filter) noexcept:
    """Return whether a filter needs no second look, and its words are between separators in it."""
    cdef word words[MOST_WORDS]
    return not trie._plan.exact and words_in_filter(trie._plan, filter, words) > 0


cpdef tuple path_by(Plan plan, object filter):
    """The same, by a plan."""
    cdef tuple path = _filter_path_in_place(plan, filter)
    if path is not None:
        return path
    words = plan.dialect.split_filter(filter) or ("",)
    one, many = plan.dialect.one_word, plan.dialect.many_words
    return words, tuple([_hash_among(w, one, many) for w in words])


def hash_in_filter(dialect, str w):
    """Return the hash of a word where it stands in a filter."""
    return _hash_among(w, dialect.one_word, dialect.many_words)


cdef uint64_t _hash_among(str w, one, many) except? 0:
    if w == one:
        return ONE_WORD
    if w == many:
        return MANY_WORDS
    return word_hash(w)


cdef tuple _filter_path_in_place(Plan plan, object filter):
    """For the filters that need no second look; None for all others, valid or not."""
    cdef word words[MOST_WORDS]
    cdef bint wild = False
    cdef Py_ssize_t i, size = words_in_filter(plan, filter, words)
    cdef tuple strings, hashes
    if size < 0:
        return None
    for i in range(size):
        wild |= words[i].hash == ONE_WORD or words[i].hash == MANY_WORDS
    if plan.exact and not wild:
        return (filter,), (word_hash(filter),)
    strings = PyTuple_New(size)
    hashes = PyTuple_New(size)
    for i in range(size):
        _set_item(strings, i, ascii_word(&words[i]))
        _set_item(hashes, i, words[i].hash)
    return strings, hashes


cdef Py_ssize_t words_in_filter(Plan plan, object filter, word *words) noexcept:
    """Split a filter that needs no second look, into up to MOST_WORDS words; -1 for all others, valid or not."""
    cdef Py_ssize_t i, size
    if not plan.splits or not is_ascii_in_place(<PyObject *>filter) or not 0 < length_of(<PyObject *>filter) <= plan.max_bytes:
        return -1
    size = words_split(
        ascii_of(<PyObject *>filter), length_of(<PyObject *>filter), &plan.in_filters, words, plan.most_in_filter
    )
    for i in range(size):
        if not _settle_wildcards(plan, &words[i], i + 1 == size):
            return -1
    return -1 if size > 0 and plan.share is not None and _is(&words[0], <PyObject *>plan.share) else size


cdef inline void _set_item(tuple array, Py_ssize_t i, object item) noexcept:
    Py_INCREF(item)     # the array's
    PyTuple_SET_ITEM_PTR(array, i, <PyObject *>item)


cdef bint _is(const word *w, PyObject *string) noexcept:
    cdef word other = word_of_string(string)
    return w.hash == other.hash and word_is_word(w, &other)


cdef bint _settle_wildcards(Plan plan, word *w, bint last) noexcept:
    """Give a wildcard its own hash; False where the dialect's own methods have to look at the word."""
    if w.length == 1 and w.data[0] == plan.one:
        w.hash = ONE_WORD
        return True
    if w.length == 1 and w.data[0] == plan.many:
        w.hash = MANY_WORDS
        return last or not plan.many_last
    return plan.wildcards_in_words or not (
        memchr(w.data, plan.one, w.length) or memchr(w.data, plan.many, w.length)
    )


# -------------------------------------------------------------------------------------------------------------- topics

cdef inline void lay_out(Traversal *t, PyObject *plan, PyObject *whole) noexcept:
    """Put into `t` what a traversal has to know besides the topic's words."""
    t.exact = (<Plan>plan).exact
    if t.exact:
        t.whole = word_of_string(whole)
    t.full = ~<uint64_t>0 >> (63 - t.size)
    t.many_min = (<Plan>plan).many_min
    t.separator = (<Plan>plan).separator_in_place
    t.one = (<Plan>plan).one
    t.many = (<Plan>plan).many


cdef Py_ssize_t words_in_topic(PyObject *plan, PyObject *topic, word *words) noexcept:
    """Split a topic into up to MOST_WORDS words. 0 or less: the dialect's own methods have to look at it."""
    cdef Py_ssize_t length
    if not (<Plan>plan).splits or not is_ascii_in_place(topic):
        return 0
    length = length_of(topic)
    if length == 0 or length > (<Plan>plan).max_bytes:
        return 0
    return words_split(ascii_of(topic), length, &(<Plan>plan).in_topics, words, (<Plan>plan).most)


cdef bint begins_reserved(PyObject *plan, PyObject *topic) noexcept:
    """Return whether filters that begin with a wildcard do not see a topic, one that has been split in place."""
    return (<Plan>plan).reserved >= 0 and ascii_of(topic)[0] == <char>(<Plan>plan).reserved


cdef bint split_in_place(Traversal *t, PyObject *plan, PyObject *topic) noexcept:
    """Put a topic into `t`, all that a traversal has to know. False, and size 0: the dialect's own methods have to look
    at it."""
    t.size = max(words_in_topic(plan, topic, t.words), <Py_ssize_t>0)
    if t.size == 0:
        return False
    t.reserved = begins_reserved(plan, topic)
    lay_out(t, plan, topic)
    return True


cdef bint split_filter_in_place(Traversal *t, PyObject *plan, PyObject *filter) noexcept:
    """Put the words of a filter into `t`, to be looked up. False, and size 0: the dialect's own methods have to look at
    it."""
    t.size = max(words_in_filter(<Plan>plan, <object>filter, t.words), <Py_ssize_t>0)
    t.separator = (<Plan>plan).separator_in_place
    return t.size > 0


cdef bint prepare_whole(Traversal *t, PyObject *plan, PyObject *topic) noexcept:
    """Put a topic into `t` to look for it without its words, in a trie with exact=True. False: that is not to be tried
    with this one."""
    if not PyUnicode_CheckExact(<object>topic):
        return False
    t.size = 0
    t.whole = word_of_string(topic)
    t.full = 1
    t.many_min = 0
    t.exact = True
    t.separator = (<Plan>plan).separator_in_place
    t.one = (<Plan>plan).one
    t.many = (<Plan>plan).many
    return True


cdef void put_query(Traversal *t, PyObject *plan, Query query) noexcept:
    """Put a query into `t`, which is in use no longer than the query; size 0: reading.py is to answer it."""
    cdef Py_ssize_t i, size = len(query.words)
    t.size = size if (<Plan>plan).in_place and size <= MOST_WORDS else 0
    for i in range(t.size):
        t.words[i] = word_of_string(<PyObject *>query.words[i])
        t.words[i].hash = query.hashes[i]
    t.reserved = query.reserved
    lay_out(t, plan, <PyObject *>query.whole)


cdef Query query_of(PyObject *plan, object topic):
    """Split and validate a topic by its dialect's own methods, and hash its words."""
    dialect = (<Plan>plan).dialect
    words = dialect.split_topic(topic)
    hashes = tuple([word_hash(w) for w in (words or ("",))])
    whole = dialect.join(words) if (<Plan>plan).exact else None
    return new_query(words, hashes, dialect, whole, 0 if whole is None else word_hash(whole))


cdef Query query_again(PyObject *plan, object topic):
    """Return the query of a topic that has been matched, which need not be validated again."""
    cdef tuple words
    if not (<Plan>plan).splits or not is_ascii_in_place(<PyObject *>topic) or length_of(<PyObject *>topic) == 0:
        return query_of(plan, topic)
    words = tuple((<str>topic).split((<Plan>plan).separator))
    return new_query(words, tuple([word_hash(w) for w in words]), (<Plan>plan).dialect, None, 0)
