"""Ask one engine, the one that ``import stackmask`` finds, and write its answers: a line for each part of each item.

    python lab/benchmarks/equal/walk.py REPOSITORY [--data PATH] [--full] [--share F] [--only CORPUS …] [--target CORPUS ITEM PART PLACE]

Compilers are new ones after every ``TOGETHER`` items, so that an answer can be had again by beginning there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import vocabularies
from asked import Asker
from corpora import corpora
from items import Corpus, Source
from recorder import Found, Recorder

TOGETHER = 40


def walk(corpus: Corpus, source: Source, record: Recorder, first: int = 0) -> None:
    """Ask about the items of a corpus, from one on."""
    askers: dict[str, Asker] = {}
    for number, item in enumerate(corpus.items):
        if number % TOGETHER == 0:
            askers = {}
        if number < first:
            continue
        role = corpus.tokenizers[number % len(corpus.tokenizers)]
        if role not in askers:
            askers[role] = Asker(vocabularies.load(role, source.data, source.repository), record)
        record.begin(number)
        askers[role].ask(corpus.asked, item)
        record.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--target", nargs=4)
    arguments = parser.parse_args()
    source = Source(arguments.repository, arguments.data, arguments.full, arguments.share)
    wanted = {arguments.target[0]} if arguments.target else set(arguments.only or ())
    for corpus in corpora(source):
        if arguments.target is None and (not arguments.only or corpus.name in arguments.only):
            print(json.dumps({"corpus": corpus.name, "items": len(corpus.items)}), flush=True)
            record = Recorder()
            begin = time.process_time()
            walk(corpus, source, record)
            seconds = round(time.process_time() - begin, 1)
            needs_masks = corpus.asked != "mistakes"
            note = {"corpus": corpus.name, **record.counts(), "needs_masks": needs_masks, "seconds": seconds}
            print(json.dumps(note), flush=True)
            wanted.discard(corpus.name)
            if arguments.only and not wanted:
                return
        elif arguments.target and arguments.target[0] == corpus.name:
            _, item, part, place = arguments.target
            number = int(item)
            role = corpus.tokenizers[number % len(corpus.tokenizers)]
            print(
                json.dumps(
                    {
                        "item": corpus.items[number].name,
                        "made": corpus.items[number].described(),
                        "role": role,
                    }
                )
            )
            try:
                walk(corpus, source, Recorder((number, part, int(place))), number - number % TOGETHER)
            except Found:
                return


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # what is held is not worth freeing
