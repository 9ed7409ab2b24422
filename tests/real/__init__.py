"""Tests against real ROCm: Debian's builds, repacked in AMD's layout."""
