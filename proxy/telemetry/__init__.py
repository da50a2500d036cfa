"""What is told of a finished exchange: one log line, one set of metrics."""
