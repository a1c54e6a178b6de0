"""Say which SQL functions exist with how many arguments, and write calls and blanks as expressions.

Knows nothing of the names in scope.
"""
