"""Decides. No await, clock, randomness or logging: what it needs comes in as arguments."""
