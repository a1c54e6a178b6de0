"""What all parts of the mask machinery share: what they borrow, the arena of masks, run tables, switches."""
