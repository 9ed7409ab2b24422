"""Questions to this host. Read only."""
