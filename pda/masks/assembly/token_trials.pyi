from stackmask.pda.masks.walk.known_stack_walks import RepeatedWalks

class Simulation(RepeatedWalks):
    """What one fill must run on its configuration, and how that is done."""

    @property
    def simulations(self) -> int:
        """Fills that ran tokens on their configuration."""

    @property
    def tried(self) -> int:
        """Tokens that were run one by one on a real configuration."""
