"""Schema-aware queries: which names mean something at a place, and what each name that is written leads to."""
