from collections.abc import Iterable

from stackmask.pda.terms.term_store import TermStore

def dump_rules(table: TermStore, rules: Iterable[int]) -> str:
    """Return rules as text, one a line, given their numbers."""
