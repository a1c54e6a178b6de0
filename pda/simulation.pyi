from stackmask.pda.walks import MaskWalks

class Simulation(MaskWalks):
    """What one fill must run on its configuration, and how that is done."""

    @property
    def simulations(self) -> int:
        """Fills that ran tokens on their configuration."""

    @property
    def tried(self) -> int:
        """Tokens that were run one by one on a real configuration."""
