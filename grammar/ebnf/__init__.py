"""The EBNF front end: text to a rule set.

``parser`` (with ``ebnf.lark`` and ``builder``) builds a syntax tree of each file; ``modules`` follows the
imports and converts the trees to expressions, with the skip rule between elements of syntactic rules.
"""
