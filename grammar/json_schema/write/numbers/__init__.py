"""Write every spelling of the members of a set of numbers, and no other, as expressions and rules."""
