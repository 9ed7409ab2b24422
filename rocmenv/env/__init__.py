"""The core: what an environment gains and loses when a release is selected. Pure."""
