"""What is installed, under one root."""
