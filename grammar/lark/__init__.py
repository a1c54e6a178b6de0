"""The Lark front end: text to a rule set, as a language without a lexer.

``parser`` builds a syntax tree of each file, ``modules`` follows the imports and gives every definition its
full name, ``terminals`` turns each terminal into one expression, and ``frontend`` turns the rules into
expressions, with templates expanded and the ``%ignore`` terminals inserted between terminals.
"""
