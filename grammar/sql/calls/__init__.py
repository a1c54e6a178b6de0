"""The SQL functions and their numbers of arguments; calls and blanks as expressions.

Independent of the names in scope.
"""
