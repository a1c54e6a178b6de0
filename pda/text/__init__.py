"""Automata over UTF-8 and JSON strings, each in one place."""
