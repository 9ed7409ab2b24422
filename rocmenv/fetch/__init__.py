"""Bytes from elsewhere: downloads, signatures, archives."""
