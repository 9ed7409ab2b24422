"""Where a machine has a ROCm already: one module for each kind of place.

A place gives *clues* (`base.Clue`): somebody says that there is a ROCm at a path. `gather`
follows them, puts together those that end in one folder, and looks at it. Everything is
read; nothing that is found is ever started.
"""
