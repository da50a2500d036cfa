"""One file a guard: what must not differ between two questions that share an answer (design 6)."""
