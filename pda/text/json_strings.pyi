def json_string_value(text: bytes) -> bytes | None:
    """Return the value of a JSON string, quotes included, as UTF-8; None if it is not one.

    A surrogate that has no partner is written as its three bytes, so different strings have different values.
    """
