"""Cacheable operations, one module each."""
