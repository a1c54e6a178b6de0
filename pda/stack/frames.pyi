class FrameSpace:
    """The frames of one family of matchers, or of the mask walks of one store; for Cython."""
