"""The Lark front end: text to a rule set, as a language without a lexer.

``parser`` builds a syntax tree of each file, ``modules`` follows the imports and gives every definition its
full name, ``terminals`` converts each terminal to one expression, and ``frontend`` converts the rules to
expressions, with templates expanded and ``%ignore`` terminals inserted between terminals.
"""
