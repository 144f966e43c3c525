# C types for _pickled.py.
from ctrie._signals cimport check_signals
