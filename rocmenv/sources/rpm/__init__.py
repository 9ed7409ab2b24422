"""RPM repositories: index, versions, relations, and what a wish needs of them."""
