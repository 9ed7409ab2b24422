"""rocmenv: ROCm releases side by side, one selected per shell or project."""

__version__ = "0.1.0"
