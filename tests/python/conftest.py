"""Puts this folder on the path of the tests in those below, which share its modules."""
