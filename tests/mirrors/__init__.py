"""Tests of `rocmenv mirror`, and of installs from what it makes."""
