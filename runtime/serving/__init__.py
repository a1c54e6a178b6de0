"""The backends of structured outputs for model servers, and the parts that they share."""
