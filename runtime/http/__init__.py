"""A small server that speaks OpenAI's protocol over transformers, for trying structured outputs (extra ``serve``)."""
