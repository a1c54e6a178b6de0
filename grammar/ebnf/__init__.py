"""The EBNF front end: text to a rule set.

``parser`` (with ``ebnf.lark`` and ``builder``) builds a syntax tree of each file; ``modules`` follows the
imports and turns the trees into expressions, inserting the skip rule between the elements of syntactic rules.
"""
