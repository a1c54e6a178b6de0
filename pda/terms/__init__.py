"""Hash-consed regular terms: build, derive, decide. Knows no vocabulary and no stack."""
