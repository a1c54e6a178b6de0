"""Rules for a set of JSON values: objects, arrays, whitespace. The last stage of the front end."""
