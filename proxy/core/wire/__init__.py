"""What stands on the wire: header fields, event streams, the operations of the API."""
