from typing import final

@final
class CaptureTexts:
    """The strings that captures have read; used from Cython."""
