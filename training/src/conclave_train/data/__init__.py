"""Reading questions and passages in the formats that people have."""
