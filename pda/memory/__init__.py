"""Plain data structures. Knows neither grammars nor vocabularies."""
