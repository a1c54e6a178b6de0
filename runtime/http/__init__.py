"""A small server with the OpenAI API over transformers, for trying structured outputs (extra ``serve``)."""
