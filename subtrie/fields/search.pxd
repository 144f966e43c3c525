# C types for search.pyx.
from subtrie.fields.index cimport Index
from subtrie.fields.state cimport State


cpdef list entries_for(Index index, dict message)
cpdef tuple subscribers_for(State state, dict message)
