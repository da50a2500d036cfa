"""The second listener: health, metrics, reload, purge."""
