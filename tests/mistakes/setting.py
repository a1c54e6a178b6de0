"""What the code of a case may name: short names, a vocabulary, files, types, a tiny model, the command line."""

from __future__ import annotations

import dataclasses
import enum
import json
import pathlib
import re
import threading
import typing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import stackmask as sm

FILES = {
    "broken.ebnf": 'root ::= "a" | itme\nitem ::= [z-a]\n',
    "order.json": json.dumps({"type": "object", "properties": {"city": {"type": "string"}}}),
    "people.csv": "name,age\nAnn,31\n",
}
WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


@dataclass(frozen=True)
class Commanded:
    """What a command printed and its exit status."""

    status: int
    text: str


@dataclass
class Order:
    city: str


class Colour(enum.Enum):
    RED = "red"


class Socket:
    """A class whose objects no JSON has."""


def ascii_vocabulary(stop: int | None = None) -> sm.Vocabulary:
    """Return a vocabulary of single bytes in which one of them may be the stop token."""
    return sm.Vocabulary([bytes([b]) for b in range(256)], stop_ids=[] if stop is None else [stop])


def call_command(*arguments: str) -> Commanded:
    from typer.testing import CliRunner

    from stackmask.runtime.cli.app import app

    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Commanded(result.exit_code, (result.stdout + result.stderr).rstrip("\n"))


class Setting:
    """The names of the cases; what takes a while is made when a case asks for it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
        self.compiler = sm.Compiler(self.vocabulary)

    def names(self, code: str) -> dict[str, Any]:
        """Return the names for a piece of code."""
        names: dict[str, Any] = {
            "sm": sm,
            "np": np,
            "re": re,
            "typing": typing,
            "pathlib": pathlib,
            "threading": threading,
            "dataclasses": dataclasses,
            "ebnf": sm.Grammar.from_ebnf,
            "regex": sm.Grammar.from_regex,
            "schema": sm.Grammar.from_json_schema,
            "tag": sm.Grammar.from_structural_tag,
            "cli": call_command,
            "matcher": lambda text: self.compiler.compile(sm.Grammar.from_ebnf(text)).matcher(),
            "ascii_vocabulary": ascii_vocabulary,
            "vocabulary": self.vocabulary,
            "compiler": self.compiler,
            "weather": WEATHER,
            "Order": Order,
            "Colour": Colour,
            "Socket": Socket,
        }
        if any(word in code for word in ("model", "tokenizer", "torch", "Processor")):
            names |= self.generation
        return names

    @cached_property
    def generation(self) -> dict[str, Any]:
        import torch
        from support.tiny_model import make_model, make_tokenizer

        tokenizer = make_tokenizer()
        model = make_model(tokenizer, 0)
        hashed = make_model(tokenizer, 0)
        hashed.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("#")
        return {
            "torch": torch,
            "model": model,
            "tokenizer": tokenizer,
            "hash_model": hashed,
            "plain_tokenizer": tokenizer,
        }
