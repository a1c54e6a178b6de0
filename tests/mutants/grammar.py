"""Mutants of the front ends and the passes: ``grammar``, ``grammars``."""

from __future__ import annotations

from mutants.mutant import Mutant

ROWS = (
    Mutant('repeat-gap', 'grammar/ir', 'first * n + 1', 'first * n + 2', 'A repetition of a repetition becomes one only where no count lies between its rounds.', ('tests/grammar/ir/test_build.py',)),
    Mutant('negate-last', 'grammar/source', '<=', '<', 'The complement of a class holds the last code point too.', ('tests/grammar/source/test_charclass.py',)),
    Mutant('leading-zero', 'grammars', '[1-9]', '[0-9]', 'A JSON number has no zeros in front.', ('tests/grammars/test_samples.py::test_engine',)),
    Mutant('exact-float', 'grammar/json_schema/document', 'Decimal(repr(value)) == exact', 'float(exact) == value', 'A number of a schema means what is written, however many digits it has.', ('tests/grammar/json_schema/test_options.py',)),
    Mutant('spelling-cache', 'grammar/json_schema/text', 'char] if char < 128', 'char & 127] if char < 256', 'The spelling of a character is remembered for that character alone.', ('tests/grammar/json_schema/test_spelling.py',)),
    Mutant('fold-last', 'grammar/regex/unicode', 'code <=', 'code <', 'The last character of a range is matched in its other case too.', ('tests/grammar/regex/test_unicode.py', 'tests/grammar/regex/test_flavors.py')),
    Mutant('without-rowid', 'grammar/sql/schema', ' and not without_rowid', '', 'A table made WITHOUT ROWID has no column `rowid`.', ('tests/grammar/sql/test_schema.py',)),
    Mutant('centuries', 'grammar/json_schema/formats', 'alt("00", fourth)', 'two', 'The first year of a century is a leap year only every 400 years.', ('tests/grammar/json_schema/test_formats.py::test_dates',)),
    Mutant('least-bound', 'grammar/regex/pattern', 'else 0', 'else 1', 'A repetition without a lower bound may match nothing.', ('tests/grammar/regex/test_flavors.py', 'tests/grammar/regex/test_against_engines.py')),
    Mutant('atomic-order', 'grammar/regex/flavours', 'True, True', 'True, False', 'An atomic group takes an alternative only where no earlier one matches.', ('tests/grammar/regex/test_flavors.py', 'tests/grammar/regex/test_against_engines.py')),
    Mutant('missing-rounds', 'grammar/regex/assertions', 'low - 1', 'low - 2', 'A loop with an anchor in its first round still makes all the rounds that it must.', ('tests/grammar/regex/test_rounds.py', 'tests/grammar/regex/test_two_ways.py', 'tests/grammar/regex/test_against_engines.py')),
    Mutant('dot-newline', 'grammar/regex', '"s" in', '"s" not in', 'A dot matches line breaks only with the flag `s`.', ('tests/grammar/regex/test_inline_regex.py',)),
    Mutant('body-over', 'grammar/regex', '~BODY_OVER', '~AT_END', 'A lookbehind holds where its body has come to an end.', ('tests/grammar/regex/test_two_ways.py', 'tests/grammar/regex/test_against_engines.py')),
    Mutant('skip-last', 'grammar/ebnf', 'behind > index', 'behind < index', 'A follow restriction on a token looks at the very next character, not behind what is skipped.', ('tests/grammar/test_goldens.py',)),
    Mutant('other-base', 'grammar/grammar', 'base=file.parent', 'base=None', 'Imports of a file are looked for beside that file.', ('tests/grammar/ebnf/test_modules.py',)),
    Mutant('minimal', 'grammar/normalize', 'o & m == o', 'o & m == m', 'Of the restrictions under which a rule can be empty the weakest are kept.', ('tests/grammar/normalize/test_nullable.py',)),
    Mutant('empty-operands', 'grammar/normalize', 'is_empty(expr)', 'False', 'What `&` and `!` leave nothing of is dropped, or it would be a dead end.', ('tests/grammar/normalize/test_passes.py',)),
    Mutant('empty-again', 'grammar/normalize', 'choice((body, ends_expression(ends[name])))', 'body', 'A rule that is rewritten without left recursion can still be empty where it could.', ('tests/grammar/normalize/test_passes.py', 'tests/grammar/normalize/test_same_language.py')),
    Mutant('open-bound', 'grammar/json_schema/sets', 'low[2] and ', '', 'A bound that is not exclusive is itself a value.', ('tests/grammar/json_schema/test_numbers.py',)),
    Mutant('beside-ref', 'grammar/json_schema/nodes', 'name in self.keywords or ', '', 'Keywords beside a reference count, where the draft says so.', ('tests/grammar/json_schema/test_options.py', 'tests/grammar/json_schema/test_official_suite.py', 'tests/grammar/json_schema/test_contents.py')),
    Mutant('whole-decade', 'grammar/json_schema/write/numbers', 'decade + 1', 'decade', 'An exponent is written only for decades that lie between the bounds as a whole.', ('tests/grammar/json_schema/test_numbers.py',)),
    Mutant('not-item', 'grammar/json_schema/algebra', 'atom[1] + 1', 'atom[1]', 'An array without an item breaks no rule about that item.', ('tests/grammar/json_schema/test_negations.py',)),
    Mutant('one-of', 'grammar/json_schema/algebra', 'none.meet(other)', 'other', 'A value of `oneOf` fits one part, and none of all the others.', ('tests/grammar/json_schema/test_official_suite.py', 'tests/grammar/json_schema/test_random_schemas.py')),
    Mutant('not-count', 'grammar/json_schema/algebra', 'high + 1', 'high', 'An object with as many members as allowed does not break the bound.', ('tests/grammar/json_schema/test_official_suite.py', 'tests/grammar/json_schema/test_random_schemas.py')),
    Mutant('least-items', 'grammar/json_schema/write', '>=', '>', 'An array whose items are counted may end with the least number of items.', ('tests/grammar/json_schema/test_official_suite.py', 'tests/grammar/json_schema/test_random_schemas.py')),
    Mutant('least-members', 'grammar/json_schema/write', 'low <= required', 'low <= required + 1', 'An object has as many members as the schema asks for.', ('tests/grammar/json_schema/test_official_suite.py', 'tests/grammar/json_schema/test_random_schemas.py')),
    Mutant('own-draft', 'grammar/json_schema', 'None if draft is None else BY_NAME[draft]', 'None', 'A schema that names no draft is read as the draft that the caller names.', ('tests/grammar/json_schema/test_options.py::test_drafts',)),
    Mutant('key-syntax', 'grammar/front_ends', 'KEY_SYNTAX', 'None', 'The automaton knows how keys are written: one key in two spellings is one key.', ('tests/grammar/json_schema/test_keys_run_out.py', 'tests/grammar/json_schema/test_random_schemas.py')),
    Mutant('schema-name', 'grammar/sql/calls', 'name.rpartition(".")[2]', 'name', 'A function with side effects is refused under the name of its schema too.', ('tests/grammar/sql/test_from_sql.py',)),
    Mutant('read-only', 'grammar/sql', 'if read_only', 'if not read_only', 'Functions with side effects can be listed only where that is asked for.', ('tests/grammar/sql/test_from_sql.py',)),
    Mutant('star-room', 'grammar/sql/scope/shared', ' - selected', '', 'What is selected beside a star counts: both sides of UNION have the same number of columns.', ('tests/grammar/sql/test_scope.py',)),
    Mutant('label-aggregate', 'grammar/sql/scope/sqlite', '(computed or not item.aggregate)', 'True', 'A label of an aggregate has no meaning before the rows are grouped.', ('tests/grammar/sql/test_scope.py',)),
    Mutant('grouped', 'grammar/sql/scope/postgres', 'all(determined', 'any(determined', 'Where rows are grouped, every column of a selected item is determined by the group.', ('tests/grammar/sql/test_scope_postgres.py',)),
    Mutant('word-end', 'grammar/sql/scope', 'seq(bodies[rule], WORD_END)', 'bodies[rule]', 'A name ends where the word ends.', ('tests/grammar/sql/test_scope.py',)),
)
