"""The real Helm, both majors."""
