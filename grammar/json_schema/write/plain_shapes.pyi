class PlainShape:
    """What a schema says of arrays, of objects, and of other values. ``kinds``: types as bits."""
