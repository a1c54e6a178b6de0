"""Coverage-guided fuzzing of the engine: ``./dev fuzz``; ``docs/testing.md`` says how it works."""
