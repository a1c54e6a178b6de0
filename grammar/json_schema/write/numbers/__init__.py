"""Rules for sets of numbers: every decimal spelling of the members, and no other."""
