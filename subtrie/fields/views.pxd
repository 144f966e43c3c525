# The C bodies of views.py.
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from ctrie._native cimport Borrowed, is_exactly
from ctrie._nodes cimport mix
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_push_pair, buffer_start
from subtrie._trie.keyed cimport key_in
from subtrie.fields.comparing cimport EQUAL, compared_there
from subtrie.fields.criteria cimport is_for_certain
from subtrie.fields.index cimport Field, Filed, Index
from subtrie.fields.maps cimport Cell
from subtrie.fields.names cimport leads_on
from subtrie.fields.needs cimport bit_of_field, bit_of_piece, bit_of_value
from subtrie.fields.state cimport Subscribed
from subtrie.fields.topics cimport Topic, topic_holds
from subtrie.fields.words cimport Words

cdef extern from *:
    """
    /* On free-threaded builds another thread may change a dict at any time. */
    #ifdef Py_GIL_DISABLED
    #define FIELDS_MAY_CHANGE 1
    #else
    #define FIELDS_MAY_CHANGE 0
    #endif
    /* Whether to hash or to free a value calls nothing of users. */
    #define FIELDS_IS_PLAIN(o) \
        (PyUnicode_CheckExact(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) || (o) == Py_None)
    /* Whether something may be in it that an event has deeper. */
    #define FIELDS_IS_NESTED(o) (PyList_CheckExact(o) || PyDict_CheckExact(o))
    /* Whether it may be a reference: the class of one was made by Python, as are those of users. */
    #define FIELDS_MAY_REFER(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE)
    /* What is looked at in an object, with its head, may lie in two lines of a cache. */
    #define FIELDS_PREFETCH(o) (__builtin_prefetch(o), __builtin_prefetch((const char *)(o) + 64))
    /* A method of a borrowed criterion, which is not counted for the call. */
    #define FIELDS_CRITERION(c) ((struct __pyx_obj_7subtrie_6fields_8criteria_Criterion *)(c))
    #define FIELDS_MET_BY(c, message) \
        (((struct __pyx_vtabstruct_7subtrie_6fields_8criteria_Criterion *)FIELDS_CRITERION(c)->__pyx_vtab) \
             ->met_by(FIELDS_CRITERION(c), message, 0))
    """
    const bint FIELDS_MAY_CHANGE
    bint is_plain "FIELDS_IS_PLAIN" (PyObject *value) noexcept
    bint is_nested "FIELDS_IS_NESTED" (PyObject *value) noexcept
    bint is_text "PyUnicode_CheckExact" (PyObject *name) noexcept
    bint FIELDS_MAY_REFER(PyObject *subscriber) noexcept
    void prefetch "FIELDS_PREFETCH" (PyObject *thing) noexcept
    int FIELDS_MET_BY(PyObject *criterion, PyObject *message) except -1
    int DictContains "PyDict_Contains" (PyObject *dict, PyObject *key) except -1
    bint DictNext "PyDict_Next" (PyObject *dict, Py_ssize_t *at, PyObject **key, PyObject **value) noexcept
    Py_hash_t hash_of_plain "PyObject_Hash" (PyObject *value) noexcept
    void INCREF "Py_INCREF" (PyObject *thing) noexcept
    void DECREF "Py_DECREF" (PyObject *thing) noexcept
    void XDECREF "Py_XDECREF" (PyObject *thing) noexcept

cdef enum:
    AHEAD = 4           # how many entries ahead of the one that is asked a search asks for memory
    ORDERS = 7          # of the orders of values, each of these has a tree
    WAY = 3             # what is noted of a way: the next node, the hash it follows, and what it looks for
    PLACES = 64         # for objects that have come by, before it takes the heap

cdef struct Search:
    PyObject *message   # a dict
    PyObject *copy      # a copy of the caller's message, counted; NULL: none was made yet
    bint is_callers     # whether the message is the caller's, who may change it: what is noted of it is counted
    bint is_partial     # whether only a part of it is noted
    Words *words        # those of its topic; NULL: it has none
    buffer noted        # entries
    buffer nodes        # those to be looked at: of trees, and on ways
    buffer crowds       # crowded places, which are to be searched
    buffer values       # those of the message: the name, its hash, a value, its hash
    uint32_t pieces     # the bits of the pieces of its texts, if any are taken to pieces
    uint64_t has        # the bits of its fields (needs.py), and of its values
    bint has_all        # whether it has those of values
    bint repeated       # whether an entry may be noted several times
    bint delivers       # whether deliveries are asked for, and not subscribers
    bint together       # whether values of several fields may belong together, or not

cdef struct Seen:       # an open hash table of addresses, at most half full; 0: none
    uint64_t *places
    uint64_t mask
    uint64_t room[PLACES]


# -------------------------------------------------------------------------------------------------------------- notes

cdef inline void begin(Search *search, dict message, Words *words, bint delivers) noexcept:
    search.words = words
    search.message = <PyObject *>message
    search.copy = NULL
    search.is_callers = search.is_partial = False
    search.pieces = 0
    search.has = 0
    search.has_all = True
    search.delivers = delivers
    search.repeated = search.together = False
    buffer_start(&search.noted)
    buffer_start(&search.nodes)
    buffer_start(&search.crowds)
    buffer_start(&search.values)


cdef inline void let_go_of_values(Search *search) noexcept:
    cdef Py_ssize_t i
    for i in range(values_known(search)):
        DECREF(name_at(search, i))
        DECREF(value_at(search, i))


cdef inline void end(Search *search) noexcept:
    if search.is_callers:
        let_go_of_values(search)
        XDECREF(search.copy)
    buffer_free(&search.noted)
    buffer_free(&search.nodes)
    buffer_free(&search.crowds)
    buffer_free(&search.values)


cdef inline void start_over(Search *search, dict message) noexcept:
    if search.is_callers:
        let_go_of_values(search)
        search.is_callers = False
    search.message = <PyObject *>message
    search.has = 0
    search.has_all = True
    search.values.count = 0


cdef inline bint note_plain(Search *search, Borrowed names) except -1:
    cdef Py_ssize_t at = 0
    cdef PyObject *name
    cdef PyObject *value
    cdef uint64_t hash
    if FIELDS_MAY_CHANGE:
        return False
    search.is_callers = True
    search.has_all = False
    while DictNext(search.message, &at, &name, &value):
        if not is_text(name):
            return False
        if not is_plain(value):
            if not is_nested(value) or leads_on(<object>names, <object>name):
                return False
            search.is_partial = True    # nobody asks for anything in it
            continue
        hash = mix(<uint64_t>hash_of_plain(name))
        search.has |= bit_of_field(hash)
        if not buffer_push_pair(&search.values, <uint64_t>name, hash):
            raise MemoryError()
        if not buffer_push_pair(&search.values, <uint64_t>value, 0):
            raise MemoryError()
        INCREF(name)
        INCREF(value)
    return True


cdef inline int own_message(Search *search) except -1:
    cdef dict copy
    cdef Py_ssize_t at = 0, i = 0, known = values_known(search)
    cdef PyObject *name
    cdef PyObject *value
    if not search.is_callers or search.copy != NULL:
        return 0
    if not search.is_partial:
        copy = (<dict>search.message).copy()
        while i < known and DictNext(<PyObject *>copy, &at, &name, &value):
            if name != name_at(search, i) or value != value_at(search, i):
                break
            i += 1
    if search.is_partial or i < known or len(copy) > known:  # users' code has been called since, and has changed it
        copy = {}
        for i in range(known):
            copy[<object>name_at(search, i)] = <object>value_at(search, i)
    search.copy = search.message = <PyObject *>copy
    INCREF(search.copy)
    return 0


cdef inline int note_value(
    Search *search, Borrowed name, uint64_t name_hash, object value, uint64_t value_hash
) except -1:
    search.has |= bit_of_field(name_hash) | bit_of_value(name_hash, value_hash)
    if not buffer_push_pair(&search.values, <uint64_t>name, name_hash):
        raise MemoryError()
    if not buffer_push_pair(&search.values, <uint64_t><PyObject *>value, value_hash):
        raise MemoryError()
    return 0


cdef inline Py_ssize_t values_known(Search *search) noexcept:
    return search.values.count // 4


cdef inline Borrowed name_at(Search *search, Py_ssize_t i) noexcept:
    return <PyObject *>search.values.items[4 * i]


cdef inline uint64_t name_hash_at(Search *search, Py_ssize_t i) noexcept:
    return search.values.items[4 * i + 1]


cdef inline Borrowed value_at(Search *search, Py_ssize_t i) noexcept:
    return <PyObject *>search.values.items[4 * i + 2]


cdef inline uint64_t value_hash_at(Search *search, Py_ssize_t i) noexcept:
    cdef uint64_t hash = search.values.items[4 * i + 3]
    if hash == 0 and not search.has_all:    # not asked for yet, of a plain value
        hash = search.values.items[4 * i + 3] = mix(<uint64_t>hash_of_plain(value_at(search, i)))
    return hash


cdef inline uint64_t all_bits(Search *search) noexcept:
    cdef Py_ssize_t i
    if not search.has_all:
        for i in range(values_known(search)):
            search.has |= bit_of_value(name_hash_at(search, i), value_hash_at(search, i))
        search.has_all = True
    return search.has


cdef inline bint is_first_of_name(Search *search, Py_ssize_t i) noexcept:
    return i == 0 or name_at(search, i - 1) != name_at(search, i)


cdef inline object whole_value(Search *search, Py_ssize_t i):
    if not search.repeated:     # a field of several values is Elements
        return <object>value_at(search, i)
    return (<dict>search.message)[<object>name_at(search, i)]


cdef inline int note(Search *search, Borrowed entry) except -1:
    if not buffer_push(&search.noted, <uint64_t>entry):
        raise MemoryError()
    return 0


cdef inline void forget_nodes(Search *search, Py_ssize_t first) noexcept:
    search.nodes.count = first


cdef inline int note_node(Search *search, Borrowed node) except -1:
    if not buffer_push(&search.nodes, <uint64_t>node):
        raise MemoryError()
    return 0


cdef inline int note_way(Search *search, Borrowed cells, uint64_t hash, Py_ssize_t number) except -1:
    if not buffer_push_pair(&search.nodes, <uint64_t>cells, hash) or not buffer_push(&search.nodes, <uint64_t>number):
        raise MemoryError()
    return 0


cdef inline Borrowed node_at(Search *search, Py_ssize_t at) noexcept:
    return <PyObject *>search.nodes.items[at]


cdef inline uint64_t hash_at(Search *search, Py_ssize_t at) noexcept:
    return search.nodes.items[at + 1]


cdef inline Py_ssize_t number_at(Search *search, Py_ssize_t at) noexcept:
    return <Py_ssize_t>search.nodes.items[at + 2]


cdef inline void go_on(Search *search, Py_ssize_t at, Borrowed node) noexcept:
    search.nodes.items[at] = <uint64_t>node


cdef inline Words *words_of(Search *search) noexcept:
    return search.words


cdef inline bint has_topic(Search *search) noexcept:
    return search.words != NULL


cdef inline void note_bits(Search *search, uint64_t bits) noexcept:
    search.has |= bits


cdef inline void note_piece(Search *search, uint64_t piece_hash) noexcept:
    search.pieces |= bit_of_piece(piece_hash)


cdef inline bint has_pieces(Search *search, Borrowed entry) noexcept:
    return not (<Filed>entry).pieces & ~search.pieces


cdef inline void keep(Search *search, Py_ssize_t count) noexcept:
    search.noted.count = count


cdef inline int note_crowd(Search *search, Borrowed crowd) except -1:
    if not buffer_push(&search.crowds, <uint64_t>crowd):
        raise MemoryError()
    return 0


cdef inline void keep_crowds(Search *search, Py_ssize_t count) noexcept:
    search.crowds.count = count


cdef inline Borrowed answer_of(Search *search, Borrowed entry) noexcept:
    return <PyObject *>(<Subscribed>entry).delivery if search.delivers else key_in(entry)


cdef inline bint may_refer(Search *search) noexcept:
    return search.noted.count > 0 and FIELDS_MAY_REFER(key_in(<PyObject *>search.noted.items[0]))


cdef inline tuple answers_noted(Search *search):
    cdef tuple answers = PyTuple_New(search.noted.count)
    cdef PyObject *answer
    cdef Py_ssize_t i
    for i in range(search.noted.count):
        answer = answer_of(search, <PyObject *>search.noted.items[i])
        INCREF(answer)
        PyTuple_SET_ITEM(answers, i, <object>answer)
    return answers


cdef inline bint has_field(Search *search, Borrowed name) except -1:
    own_message(search)
    if search.together:
        return is_for_certain(<dict>search.message, <object>name)
    return DictContains(search.message, name)


cdef inline bint is_met(Search *search, Borrowed criterion) except -1:
    if is_exactly(criterion, Topic):
        return topic_holds(<Topic>criterion, search.words)
    own_message(search)
    return FIELDS_MET_BY(criterion, search.message)


cdef inline int see(Seen *seen, Py_ssize_t most) except -1:
    cdef Py_ssize_t size = PLACES
    while size < 2 * most:
        size *= 2
    seen.mask = size - 1
    if size == PLACES:
        seen.places = seen.room
        memset(seen.room, 0, sizeof(seen.room))
        return 0
    seen.places = <uint64_t *>PyMem_RawCalloc(size, sizeof(uint64_t))
    if seen.places == NULL:
        raise MemoryError()
    return 0


cdef inline bint is_new(Seen *seen, Borrowed thing) noexcept:
    cdef uint64_t at = mix(<uint64_t>thing) & seen.mask
    while seen.places[at] and seen.places[at] != <uint64_t>thing:
        at = (at + 1) & seen.mask
    if seen.places[at]:
        return False
    seen.places[at] = <uint64_t>thing
    return True


cdef inline void unsee(Seen *seen) noexcept:
    if seen.places != seen.room:
        PyMem_RawFree(seen.places)


# -------------------------------------------------------------------------------------------------------------- views

cdef inline bint is_equal(Borrowed one, Borrowed other) except -1:
    if is_text(one) and is_text(other):     # in a third of the instructions
        return <str>one == <str>other
    return compared_there(one, other, EQUAL)


cdef inline int few_in(Borrowed cell) noexcept:
    return (<Cell>cell).few


cdef inline Borrowed few_at(Borrowed cell, int i) noexcept:
    return (<Cell>cell).entries[i]


cdef inline uint64_t id_of(Borrowed thing) noexcept:
    return <uint64_t>thing


cdef inline Borrowed value_of(Borrowed cell) noexcept:
    return <PyObject *>(<Cell>cell).value


cdef inline uint64_t needs_in(Borrowed entry) noexcept:
    return (<Filed>entry).needs


cdef inline bint is_repeated(Borrowed entry) noexcept:
    return (<Filed>entry).is_repeated


cdef inline bint is_joint(Borrowed entry) noexcept:
    return (<Filed>entry).is_joint


cdef inline Borrowed rest_of(Borrowed entry) noexcept:
    return <PyObject *>(<Filed>entry).rest


cdef inline Borrowed fields_of(Borrowed index) noexcept:
    return <PyObject *>(<Index>index).fields


cdef inline Borrowed absent_of(Borrowed index) noexcept:
    return <PyObject *>(<Index>index).absent


cdef inline Borrowed topics_of(Borrowed index) noexcept:
    return <PyObject *>(<Index>index).topics


cdef inline Borrowed whole_of(Borrowed index) noexcept:
    return <PyObject *>(<Index>index).whole


cdef inline Borrowed values_of(Borrowed field) noexcept:
    return <PyObject *>(<Field>field).values


cdef inline Borrowed ranges_of(Borrowed field) noexcept:
    return <PyObject *>(<Field>field).ranges


cdef inline Borrowed boxes_of(Borrowed field) noexcept:
    return <PyObject *>(<Field>field).boxes


cdef inline Borrowed views_of(Borrowed field) noexcept:
    return <PyObject *>(<Field>field).views


cdef inline Borrowed any_of(Borrowed field) noexcept:
    return <PyObject *>(<Field>field).any
