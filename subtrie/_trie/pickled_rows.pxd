# C types for pickled_rows.py.
from ctrie._machine cimport check_signals
