"""RPM repositories."""
