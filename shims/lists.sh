# How a list of folders changes: shared by the shim and the hook of the POSIX shells. The
# functions _rocmenv_owns and _rocmenv_any come from the rendered activation, _rocmenv_set and
# _rocmenv_clear from whoever reads this.

# A ROCm that only a variable names counts as known, if it is one (`:` matches no entry).
_rocmenv_named() {
  _rocmenv_o=: _rocmenv_h=:
  if [ -n "${ROCM_PATH-}" ] && [ -f "$ROCM_PATH/.info/version" ]; then _rocmenv_o=$ROCM_PATH; fi
  if [ -n "${HIP_PATH-}" ] && [ -f "$HIP_PATH/.info/version" ]; then _rocmenv_h=$HIP_PATH; fi
}

# NAME ENTRIES VALUE: VALUE without the entries of any other ROCm and with ENTRIES in front.
_rocmenv_put() {
  if [ -z "$3" ]; then
    [ -z "$2" ] || _rocmenv_set "$1" "$2"
    return 0
  fi
  if ! _rocmenv_any ":$3:"; then
    [ -z "$2" ] || _rocmenv_set "$1" "$2:$3"
    return 0
  fi
  _rocmenv_l=$3: _rocmenv_n=''
  while [ -n "$_rocmenv_l" ]; do
    _rocmenv_e=${_rocmenv_l%%:*} _rocmenv_l=${_rocmenv_l#*:}
    _rocmenv_owns "$_rocmenv_e" || _rocmenv_n=$_rocmenv_n:$_rocmenv_e
  done
  if [ -n "$2" ]; then
    _rocmenv_set "$1" "$2$_rocmenv_n"
  elif [ -z "$_rocmenv_n" ]; then
    _rocmenv_clear "$1"
  else
    _rocmenv_set "$1" "${_rocmenv_n#:}"
  fi
}

# NAME VALUE: cleared when it lies in another ROCm.
_rocmenv_drop() {
  if _rocmenv_owns "$2"; then _rocmenv_clear "$1"; fi
}
