"""Meaning as vectors: models (find, prepare, verify), encoders in their threads, indexes.

Nothing heavy is imported here; a proxy that compares nothing by meaning loads none of it.
"""
