from subtrie._trie.match.buffer cimport buffer

cdef enum:
    REPEATED = 1        # the mark of a subscriber that was named before: the lowest bit, which is 0 in an address

cdef int drop_repeated(buffer *subscribers) except -1   # of pairs: a subscriber, counted, and its hash
