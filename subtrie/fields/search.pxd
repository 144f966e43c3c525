# C types for search.py.
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._machine cimport W, check_stack, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly
from ctrie._nodes cimport mix
from subtrie._trie.match.plan cimport Plan
from subtrie._trie.match.scratch cimport enter, leave
from subtrie._trie.match.walk cimport as_node, item_of, lowest_bit, prefetch_to_count, size_of
from subtrie._trie.keyed cimport SetNode, hash_in, key_in, set_array_of
from subtrie._trie.subscribers cimport is_held
from subtrie.fields.boxes cimport Spot, is_around, prefetch_boxes, spot_on
from subtrie.fields.criteria cimport PIECES, TEXTS, order_of, plain
from subtrie.fields.comparing cimport VALUE, as_value, kind_of
from subtrie.fields.delivery cimport living
from subtrie.fields.events cimport flat_as_asked
from subtrie.fields.index cimport Index
from subtrie.fields.intervals cimport Point, entries_around, point_at, prefetch_node
from subtrie.fields.maps cimport Cell
from subtrie.fields.names cimport leads_on
from subtrie.fields.state cimport State, Subscribed, clues_of, has_owners_of_several, index_of, names_of
from subtrie.fields.texts cimport LONGEST_PIECE, pieces_of, viewed
from subtrie.fields.together cimport Together, hold_together, new_together
from subtrie.fields.topics cimport Topic, hash_of_all, stand_there
from subtrie.fields.tree cimport below_at, count_at, is_leaf, key_at
from subtrie.fields.views cimport (
    AHEAD, ORDERS, Search, Seen, WAY, absent_of, all_bits, answer_of, answers_noted, any_of, begin, boxes_of, end, few_at, few_in, fields_of, forget_nodes, go_on, has_field, has_pieces, has_topic,
    hash_at, id_of,
    is_equal, is_first_of_name, is_joint, is_met, is_new, is_repeated, keep, keep_crowds, may_refer, name_at, name_hash_at, needs_in, node_at, note, note_bits,
    note_crowd, note_node, note_piece, note_plain, note_value,
    note_way, number_at,
    prefetch, ranges_of, rest_of, see, start_over, topics_of, unsee, value_at, value_hash_at, value_of,
    values_known, values_of, views_of, whole_of, whole_value, words_of,
)
from subtrie.fields.words cimport (
    ALL, ANYWHERE, MOST_PLACES, PAIRS, Words, bit_of_word, count_of, hash_of, hash_of_more, put_words, release_words
)

ctypedef uint64_t *entries_noted

cdef enum:
    FEW = 16            # see search.py

cdef Words *NO_WORDS    # NULL: nobody sets it
cdef object Elements    # asked for each value; a global of the module would be counted each time
cdef frozenset PLAIN

cdef int enter_search() except -1
@cython.locals(search=Search, items=entries_noted, i=Py_ssize_t)
cpdef list clues_for(State state, dict message)
cpdef tuple answers_for(State state, dict message, bint delivers)
@cython.locals(words=Words)
cdef tuple answers_on_topic(State state, dict message, bint delivers, Plan plan, object dialect, object topic)
@cython.locals(search=Search, found=tuple)
cdef tuple _answers(State state, dict message, Words *words, bint delivers)
@cython.locals(seen=Seen, kept=Py_ssize_t, i=Py_ssize_t)
cdef Py_ssize_t _distinct(entries_noted items, Py_ssize_t first, Py_ssize_t last, bint of_subscriber) except -1
@cython.locals(own=dict)
cdef int _search(Search *search, Borrowed index, Borrowed names, dict message) except -1
@cython.locals(value_hash=uint64_t)
cdef bint _note_values(Search *search, dict message, Borrowed names) except -1
@cython.locals(words="Words *", i=Py_ssize_t)
cdef int _search_noted(Search *search, Borrowed index, dict message) except -1
@cython.locals(words="Words *", i=Py_ssize_t)
cdef int _note_topic(Search *search, Borrowed topics) except -1
@cython.locals(first=Py_ssize_t, last=Py_ssize_t, i=Py_ssize_t, crowd=Borrowed)
cdef int _search_in_crowds(Search *search) except -1
@cython.locals(fields=Borrowed, cell=Borrowed, field=Borrowed, i=Py_ssize_t, around=dict)
cdef int _search_in(Search *search, Borrowed index) except -1
@cython.locals(last=Py_ssize_t, at=Py_ssize_t, cell=Borrowed, ends=Borrowed, i=Py_ssize_t)
cdef int _note_at_ends(Search *search) except -1
@cython.locals(at=Py_ssize_t, shift=int, is_on_the_way=bint, node=Borrowed, bitmap=uint64_t, flag=uint64_t)
cdef int _follow(Search *search, Py_ssize_t last) noexcept
cdef inline int _note_at(Search *search, Borrowed cell, Py_ssize_t at) except -1
@cython.locals(i=Py_ssize_t, key=Borrowed, number=Py_ssize_t)
cdef inline bint _leads_to(Search *search, Borrowed cell, Py_ssize_t at) except -1
@cython.locals(view=int, field=Borrowed, piece=str)
cdef int _note_in_views(Search *search, Borrowed views, object text) except -1
@cython.locals(shift=int, bitmap=uint64_t, flag=uint64_t, i=Py_ssize_t)
cdef Borrowed _find_cell(Borrowed cells, Borrowed key, uint64_t hash) except NULL
@cython.locals(i=int)
cdef inline bint _is_cell_of(Borrowed cell, Borrowed key, uint64_t hash) except -1
@cython.locals(cell=Borrowed)
cdef int _note_in_view(Search *search, Borrowed field, object value) except -1
@cython.locals(order=int, tree=Borrowed, point=Point)
cdef int _note_beside_values(Search *search, Borrowed field, object value, dict around) except -1
@cython.locals(i=Py_ssize_t, cell=Borrowed, spot=Spot)
cdef int _note_in_boxes(Search *search, Borrowed boxes, object value) except -1
@cython.locals(first=Py_ssize_t, at=Py_ssize_t, node=Borrowed, i=Py_ssize_t)
cdef int _note_boxes(Search *search, Borrowed tree, const Spot *spot) except -1
@cython.locals(first=Py_ssize_t, at=Py_ssize_t, node=Borrowed, found=uint32_t, i=int)
cdef int _note_around(Search *search, Borrowed tree, const Point *point) except -1
@cython.locals(found=uint32_t, done=uint32_t, i=int)
cdef bint _note_around_too(Search *search, Borrowed node, const Point *point, dict around) except -1
@cython.locals(i=Py_ssize_t)
cdef int _note_absent(Search *search, Borrowed cells) except -1
@cython.locals(i=int)
cdef int _note_below(Search *search, Borrowed cell) except -1
cdef int _note_place(Search *search, Borrowed filed) except -1
@cython.locals(i=Py_ssize_t)
cdef int _note_all(Search *search, Borrowed filed) except -1
@cython.locals(items=entries_noted, count=Py_ssize_t, kept=Py_ssize_t, ahead=Py_ssize_t, i=Py_ssize_t, entry=Borrowed, holds=bint, together=Together)
cdef int _keep_met(Search *search, dict message) except -1
@cython.locals(items=entries_noted, lacks=uint64_t, kept=Py_ssize_t, i=Py_ssize_t)
cdef int _keep_possible(Search *search) except -1
cdef bint _holds_together(Search *search, Together together, object entry) except -1
@cython.locals(i=Py_ssize_t)
cdef bint _all_hold(Search *search, Borrowed rest) except -1
