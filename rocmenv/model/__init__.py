"""The nouns: versions, specs, layouts, receipts, selections. Pure; no I/O."""
