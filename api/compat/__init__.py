"""The interfaces of other libraries, implemented by this engine: change an import, and existing code runs."""
