"""Towards the client."""
