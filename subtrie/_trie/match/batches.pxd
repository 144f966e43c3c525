# C types for batches.py.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from ctrie._machine cimport check_signals
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_start
from subtrie._trie.match.answer_cache cimport DELIVERIES, SUBSCRIBERS
from subtrie._trie.match.interleaved cimport end_group, traverse_next
from subtrie._trie.match.matching cimport ask, deliveries, match, subscribers_of, told_of
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.reading cimport TRIAL, WORTH, WORTH_IN_ONE_BLOCK
from subtrie._trie.match.scratch cimport Question, bytes_of, coming_again, subscriber_at
from subtrie._trie.match.steps cimport GROUP, Batch, begin_batch, end_batch, question_at, topic_at


cpdef list match_many(Matchable trie, topics)
cpdef list deliveries_many(Matchable trie, topics)
@cython.locals(batch=Batch)
cdef list _answers(Matchable trie, topics, int wants)
cdef tuple _one_answer(Matchable trie, object topic, int wants)
cdef inline list _block_of(topics, Py_ssize_t at)
cdef inline bint _come_again(list block, Py_ssize_t count) except -1
cdef int _answer_block(Batch *b, Matchable trie, list block, int wants, list answers) except -1
@cython.locals(question=Question, is_text=bint, known=tuple, answer=tuple)
cdef bint _answer_or_repeat(Matchable trie, list block, int wants, dict answered, list answers) except -1
@cython.locals(batch=Batch, offsets=buffer, numbers=buffer)
cpdef tuple match_numbers(Matchable trie, list topics)
cdef int _number_block(Batch *b, Matchable trie, list block, buffer *offsets, buffer *numbers) except -1
@cython.locals(known=Py_ssize_t, j=uint64_t)
cdef bint _number_or_repeat(
    Matchable trie, list block, Py_ssize_t at, dict answered, buffer *offsets, buffer *numbers
) except -1
cdef bint _push_taken(buffer *numbers, Question *q) except -1
cdef int _push_all(buffer *words, tuple several) except -1
cdef inline int _push(buffer *words, int64_t word) except -1
