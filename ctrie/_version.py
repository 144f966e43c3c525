"""The version of the distribution, which all its packages share."""

__version__ = "0.3.0"
