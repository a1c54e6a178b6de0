"""The interfaces of other libraries over this engine: change an import, and the code runs."""
