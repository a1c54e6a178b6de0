"""XML by expat, with and without namespaces."""

from __future__ import annotations

from xml.parsers import expat

from judges.verdict import ACCEPTED, Verdict, rejected


def judge(data: bytes) -> Verdict:
    """Judge one document: well-formed XML 1.0 in UTF-8 that also obeys Namespaces in XML."""
    for separator in (None, "}"):
        parser = expat.ParserCreate(namespace_separator=separator)
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, LookupError) as error:  # LookupError: an unknown encoding
            return rejected(error)
    return ACCEPTED
