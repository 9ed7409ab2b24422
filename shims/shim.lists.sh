# For the shim, when the environment has entries of another ROCm: the functions that an
# activation calls. It is read before the activation itself.

# @LISTS@

_rocmenv_set() { export "$1=$2"; }
_rocmenv_clear() { unset "$@"; }
_rocmenv_begin() { _rocmenv_named; }
_rocmenv_end() { :; }
