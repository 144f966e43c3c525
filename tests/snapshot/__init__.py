"""Tests of subscription sets as data."""
