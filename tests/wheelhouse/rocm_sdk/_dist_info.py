"""What the release is; written anew for each one that is packed."""

__version__ = "DEFAULT"
