"""The EBNF front end: text to a rule set.

``parser`` (with ``ebnf.lark`` and ``builder``) makes a syntax tree of each file; ``modules`` follows the imports and turns
the trees into expressions, putting the skip rule between the elements of syntactic rules.
"""
