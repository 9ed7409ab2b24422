"""Text for `eval`: one class per shell. Pure."""
