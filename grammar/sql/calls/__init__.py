"""SQL functions with their numbers of arguments, and the expressions of calls and whitespace.

This room is independent of the names in scope.
"""
