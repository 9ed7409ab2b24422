#!/bin/sh
# The shim of rocmenv: one file for every command, linked as ROOT/shims/COMMAND. It finds the
# version that is selected here, takes on that version's whole environment and becomes its
# program. Builtins only: it costs about one start of /bin/sh. Whatever is not the plain case
# (a range, an odd pin, a version or command that is missing) goes to `rocmenv exec`, which
# decides by the same rules and prints the error.

# @WANTED@

_rocmenv_in() { # FOLDERS: the path of the command in _rocmenv_t
  for _rocmenv_b in "$@"; do
    _rocmenv_t=$_rocmenv_b/$_rocmenv_c
    [ ! -f "$_rocmenv_t" ] || [ ! -x "$_rocmenv_t" ] || return 0
  done
  _rocmenv_t=''
}

_rocmenv_slow() {
  set -- exec --shim "$_rocmenv_c" -- "$@"
  [ -z "$_rocmenv_plus" ] || set -- "+$_rocmenv_plus" "$@"
  ROCMENV_SHIM_ROOT=$_rocmenv_r
  export ROCMENV_SHIM_ROOT
  # The launcher as it was at `rocmenv rehash`; then the one on PATH, which is never a shim.
  if [ -x @PROGRAM@ ]; then exec @LAUNCHER@ "$@"; fi
  if command -v rocmenv >/dev/null 2>&1; then exec rocmenv "$@"; fi
  printf '%s\n' "rocmenv: the shim \`$_rocmenv_c\` cannot find rocmenv itself" \
    "hint: install rocmenv again, put it on PATH, and run \`rocmenv rehash\`" >&2
  exit 127
}

# The root, from this file's own place; the one it was made for where that is no root.
case $0 in
  /*) _rocmenv_r=${0%/*} ;;
  */*) _rocmenv_r=$PWD/${0%/*} ;;
  *) _rocmenv_r=/ ;;
esac
_rocmenv_r=${_rocmenv_r%/*}
[ -d "$_rocmenv_r/activations" ] || _rocmenv_r=@ROOT@
_rocmenv_c=${0##*/} _rocmenv_plus='' _rocmenv_t='' _rocmenv_v=''

case ${1-} in +[0-9]* | +latest | +system) _rocmenv_plus=${1#+}; shift ;; esac
if [ -n "$_rocmenv_plus" ]; then _rocmenv_w=$_rocmenv_plus; else _rocmenv_wanted; fi

case $_rocmenv_w in
  '' | system)
    # What an activation changed must be undone first, which `rocmenv exec` does.
    [ -z "${ROCMENV_DIFF-}" ] || _rocmenv_slow "$@"
    _rocmenv_l=${PATH-}:
    while [ -n "$_rocmenv_l" ]; do
      _rocmenv_b=${_rocmenv_l%%:*} _rocmenv_l=${_rocmenv_l#*:}
      case $_rocmenv_b in "$_rocmenv_r"/*) continue ;; esac
      _rocmenv_in "${_rocmenv_b:-.}"
      if [ -n "$_rocmenv_t" ] && [ ! "$_rocmenv_t" -ef "$0" ]; then _rocmenv_v=system; break; fi
    done
    [ -n "$_rocmenv_v" ] || _rocmenv_slow "$@"
    ;;
  .* | *[!A-Za-z0-9._+-]*) _rocmenv_slow "$@" ;;
  *)
    [ -r "$_rocmenv_r/activations/$_rocmenv_w.shim" ] || _rocmenv_slow "$@"
    . "$_rocmenv_r/activations/$_rocmenv_w.shim"
    [ -n "$_rocmenv_t" ] || _rocmenv_slow "$@"
    unset ROCMENV_DIFF
    ROCMENV_VERSION=$_rocmenv_v
    export ROCMENV_VERSION
    ;;
esac

# Never itself: the third time that this command of this version is reached from itself is
# left to `rocmenv exec`, which says so and stops.
case ${ROCMENV_SHIMS-} in
  *":$_rocmenv_v/$_rocmenv_c:"*":$_rocmenv_v/$_rocmenv_c:"*) _rocmenv_slow "$@" ;;
esac
ROCMENV_SHIMS=${ROCMENV_SHIMS-}:$_rocmenv_v/$_rocmenv_c:
export ROCMENV_SHIMS
exec "$_rocmenv_t" "$@"
