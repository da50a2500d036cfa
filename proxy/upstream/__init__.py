"""Towards the upstream."""
