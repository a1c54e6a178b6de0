from typing import final

@final
class CaptureTexts:
    """The texts of captures; used from Cython."""
