"""The terminals that Lark comes with, by the files that they are imported from, after what its documentation says of them."""

from __future__ import annotations

from typing import Final

_COMMON: Final = r"""
DIGIT: /[0-9]/
HEXDIGIT: /[0-9a-fA-F]/
INT: DIGIT+
SIGNED_INT: /[+-]/? INT
DECIMAL: INT "." INT? | "." INT
_EXP: /[eE]/ SIGNED_INT
FLOAT: INT _EXP | DECIMAL _EXP?
SIGNED_FLOAT: /[+-]/? FLOAT
NUMBER: FLOAT | INT
SIGNED_NUMBER: /[+-]/? NUMBER

_STRING_INNER: /.*?/
_STRING_ESC_INNER: _STRING_INNER /(?<!\\)(\\\\)*?/
ESCAPED_STRING: /"/ _STRING_ESC_INNER /"/

LCASE_LETTER: /[a-z]/
UCASE_LETTER: /[A-Z]/
LETTER: /[A-Za-z]/
WORD: LETTER+
CNAME: /[A-Za-z_][A-Za-z0-9_]*/

WS_INLINE: /[ \t]+/
WS: /[ \t\f\r\n]+/
CR: /\r/
LF: /\n/
NEWLINE: (CR? LF)+

SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: /\/\*(?s:.)*?\*\//
SQL_COMMENT: /--[^\n]*/
"""

_UNICODE: Final = r"""
WS_INLINE: /[ \t\xa0]+/
WS: /[ \t\xa0\f\r\n]+/
"""

LIBRARY: Final = {"common": _COMMON, "unicode": _UNICODE}
"""The texts of the bundled files, by name."""
