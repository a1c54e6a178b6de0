"""What servers of models load: their backends of structured outputs, made of this package's parts."""
