"""Hash-consed regular terms: construction, derivatives, decision procedures. Independent of vocabularies and stacks."""
