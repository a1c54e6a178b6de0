"""The Lark front end: text to a rule set, as a language without a lexer.

``tokens`` and ``parser`` make a syntax tree of each file, ``modules`` follows the imports and gives every definition its
full name, ``templates`` writes out what has parameters, ``terminals`` makes one expression of each terminal, and
``lower`` turns the rules into expressions with what ``%ignore`` names between the terminals.
"""
