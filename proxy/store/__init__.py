"""Where stored responses are."""
