"""Exact structured generation for language models."""
