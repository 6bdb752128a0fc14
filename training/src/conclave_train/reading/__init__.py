"""The extractive reader: question and passage in one text, answer spans, and whether the passage answers at all."""
