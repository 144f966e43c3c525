# C types for pickled_rows.py.
from ctrie._signals cimport check_signals
