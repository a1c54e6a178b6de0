from typing import final

@final
class UsedKeys:
    """The undeclared keys of the object that was asked for last, spelled out; used from Cython."""
