"""Make the embedded model: database, questions, tokenizer, weights and their evaluation."""
