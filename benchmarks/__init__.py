"""What rocmenv costs, as ratios of one run: `python -m benchmarks`."""
