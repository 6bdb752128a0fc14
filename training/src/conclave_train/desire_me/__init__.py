"""DESIRE-ME: a gate and specialisers on the frozen vectors of questions (Kasela et al. 2024)."""
