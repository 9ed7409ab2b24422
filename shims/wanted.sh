# Which version is wanted here: shared by the shim and the hook of the POSIX shells. Builtins
# only. Names start with _rocmenv_, and there is no `local`, which POSIX does not have.

# FILE: its one word in _rocmenv_w; nothing when it has none; ? when it is not plain.
_rocmenv_pin() {
  _rocmenv_w='' _rocmenv_n=0 _rocmenv_s=''
  [ -r "$1" ] || { _rocmenv_w='?'; return 0; }
  {
    while IFS='' read -r _rocmenv_l || [ -n "$_rocmenv_l" ]; do
      _rocmenv_n=$((_rocmenv_n + ${#_rocmenv_l} + 1))
      [ "$_rocmenv_n" -le 65536 ] || { _rocmenv_w='?'; break; }
      _rocmenv_l=${_rocmenv_l#"${_rocmenv_l%%[![:space:]]*}"}
      case $_rocmenv_l in '' | '#'*) continue ;; esac
      [ -z "$_rocmenv_w" ] || { _rocmenv_w='?'; break; }
      _rocmenv_w=${_rocmenv_l%%[[:space:]]*}
      _rocmenv_l=${_rocmenv_l#"$_rocmenv_w"}
      _rocmenv_l=${_rocmenv_l#"${_rocmenv_l%%[![:space:]]*}"}
      case $_rocmenv_l in '' | '#'*) ;; *) _rocmenv_w='?'; break ;; esac
    done <&3
    # `read` drops NUL bytes without a word, so what was read must be as long as the file.
    # The kernel tells how far the file was read; a comment that is not ASCII counts short in
    # some shells and then takes the slow path, which reads it right.
    [ ! -r /proc/self/fdinfo/3 ] || IFS='' read -r _rocmenv_s </proc/self/fdinfo/3
    _rocmenv_s=${_rocmenv_s##*[!0-9]}
  } 3<"$1"
  case $_rocmenv_s in
    '' | "$_rocmenv_n" | "$((_rocmenv_n - 1))") ;;
    *) _rocmenv_w='?' ;;
  esac
}

# The version wanted here in _rocmenv_w, and what says so in _rocmenv_f: ROCMENV_VERSION, the
# nearest pin upward, the user's default. Nothing in _rocmenv_w: the system's.
_rocmenv_wanted() {
  _rocmenv_w=${ROCMENV_VERSION-} _rocmenv_f=ROCMENV_VERSION
  [ -z "$_rocmenv_w" ] || return 0
  # In a folder that was deleted a shell may call it `.`, which has no way up.
  case $PWD in /*) _rocmenv_d=$PWD ;; *) _rocmenv_d='' ;; esac
  while :; do
    _rocmenv_f=$_rocmenv_d/.rocm-version
    if [ -f "$_rocmenv_f" ]; then
      _rocmenv_pin "$_rocmenv_f"
      [ -z "$_rocmenv_w" ] || return 0
    fi
    [ -n "$_rocmenv_d" ] || break
    _rocmenv_d=${_rocmenv_d%/*}
  done
  _rocmenv_f=$_rocmenv_r/version
  [ ! -f "$_rocmenv_f" ] || _rocmenv_pin "$_rocmenv_f"
}
