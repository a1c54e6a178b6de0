"""XGrammar's exceptions. Each is a StackmaskError too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.turns.formats.fields import StructuralTagError


class XGrammarError(StackmaskError, RuntimeError):
    """What XGrammar raises a RuntimeError for; ``__cause__`` is the engine's own error, with its fields."""


class InvalidStructuralTagError(XGrammarError):
    """A structural tag that means nothing; the message has the JSON pointer of the place."""


class InvalidJSONError(XGrammarError):
    """Text that is no JSON."""


class DeserializeFormatError(XGrammarError):
    """JSON that is not what ``serialize_json`` writes."""


class DeserializeVersionError(XGrammarError):
    """What another version of ``serialize_json`` wrote."""


@contextmanager
def runtime_errors() -> Iterator[None]:
    """Raise the errors of the engine as RuntimeError, which code written for XGrammar catches."""
    try:
        yield
    except XGrammarError:
        raise
    except StructuralTagError as error:
        raise InvalidStructuralTagError(str(error)) from error
    except StackmaskError as error:
        raise XGrammarError(str(error)) from error
