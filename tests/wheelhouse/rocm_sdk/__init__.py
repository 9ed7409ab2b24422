"""The Python interface of a release's wheels, as far as the tests use it."""

from ._dist_info import __version__ as __version__
