"""Late interaction: a vector and an importance per token, trained on the frozen states of a base encoder."""
