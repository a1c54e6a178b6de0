"""Railroad diagrams of rules: one picture for each rule, drawn with the library ``railroad-diagrams``."""
