from typing import final

@final
class Runs:
    """The runs of one vocabulary, made when they are first asked for; for Cython."""
