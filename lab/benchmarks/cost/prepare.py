"""Write the tokens of a vocabulary and the token ids of all texts of the workloads: read without valgrind, once for both engines.

python lab/benchmarks/cost/prepare.py OUT REPOSITORY [DATA]
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import texts

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "equal"))

from vocabularies import load


def main() -> None:
    out, repository, *data = map(Path, sys.argv[1:])
    tokens = load("large", data[0] if data else None, repository)
    written = [text for name, text in vars(texts).items() if name.endswith(("_TEXT", "QUERY", "TURN"))]
    written += ["a", *texts.QUERIES.values(), *(text for _, text in texts.PATTERNS)]
    ids = {text: tokens.ids(text) for text in written}
    out.write_bytes(pickle.dumps((list(tokens.vocabulary.tokens), list(tokens.vocabulary.stop_ids), ids)))


if __name__ == "__main__":
    main()
