"""A retriever that learns from a reader which passages help to answer: questions and answers are enough."""
