"""The connection to Redis, for every adapter that needs one. The only importer of its library."""
