"""Searching the training passages: BM25, hard negatives, accuracy."""
