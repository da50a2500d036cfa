"""The way of a request, stage by stage; pipeline.py first."""
