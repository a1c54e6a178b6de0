"""The runtime: vocabulary, matcher, generation, command line."""
