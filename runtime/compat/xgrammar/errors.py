"""XGrammar's exceptions. Each is also a StackmaskError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.turns.formats.fields import StructuralTagError


class XGrammarError(StackmaskError, RuntimeError):
    """The counterpart of XGrammar's RuntimeError; ``__cause__`` is the engine's own error, with its fields."""


class InvalidStructuralTagError(XGrammarError):
    """A structural tag is invalid; the message has the JSON pointer of the error."""


class InvalidJSONError(XGrammarError):
    """The text is not JSON."""


class DeserializeFormatError(XGrammarError):
    """The JSON was not written by ``serialize_json``."""


class DeserializeVersionError(XGrammarError):
    """The JSON was written by another version of ``serialize_json``."""


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
