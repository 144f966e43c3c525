# C types for _listing.py.
from ctrie._nodes cimport Root
