"""The Lark front end: text to a rule set, as a language without a lexer.

``parser`` makes a syntax tree of each file, ``modules`` follows the imports and gives every definition its full name,
``terminals`` makes one expression of each terminal, and ``frontend`` turns the rules into expressions, templates written
out, with what ``%ignore`` names between the terminals.
"""
