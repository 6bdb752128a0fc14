"""Fitting a bi-encoder: loss, batches, gradient caching, the loop, its state on disk."""
