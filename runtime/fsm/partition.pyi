from typing import final

@final
class Partition:
    """Sets of the integers from 0 on. ``mark`` some, then ``split`` each set into marked and others."""
