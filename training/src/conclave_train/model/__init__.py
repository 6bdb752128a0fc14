"""The encoders: BERT, its tokenizer, checkpoints, and what fine-tuning changed in them."""
