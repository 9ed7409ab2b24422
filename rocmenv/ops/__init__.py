"""One verb each. No printing."""
