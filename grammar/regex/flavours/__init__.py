"""One reader a flavour (ECMAScript, Python, Rust): pattern text to the shared syntax tree."""
