"""What a cache decides: keys, freshness, what may be stored and what may be served."""
