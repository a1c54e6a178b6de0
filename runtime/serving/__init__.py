"""The backends of structured outputs for model servers, with the parts that they share."""
