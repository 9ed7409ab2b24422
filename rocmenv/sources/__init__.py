"""Who offers releases: one module or folder per channel."""
