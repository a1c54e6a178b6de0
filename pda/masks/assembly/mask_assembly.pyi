from stackmask.pda.masks.assembly.token_trials import Simulation

class MaskParts(Simulation):
    """What one fill puts together, and what it must run besides."""

    @property
    def most_visits(self) -> int:
        """The most (mask, frame) pairs that one mask was put together from."""
