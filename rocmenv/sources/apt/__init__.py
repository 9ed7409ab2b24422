"""Debian-style repositories: signed index, packages, what they need."""
