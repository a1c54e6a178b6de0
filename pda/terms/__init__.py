"""Hash-consed regular terms: construction, derivatives, decision procedures. Vocabularies and stacks are not used."""
