# rocmenv in a POSIX shell (sh, dash, ksh, bash, zsh): the functions behind `use` and the
# prompt hook. Written by `rocmenv init`. No process is started while the wanted version's
# activation is rendered under ROOT/activations.
_rocmenv_r=@ROOT@
# `set -a` may have handed these on from the shell that started this one.
[ "${_rocmenv_pid-}" = "$$" ] || { _rocmenv_off=''; unset _rocmenv_last; }
_rocmenv_pid=$$
_rocmenv_nl='
'

# @WANTED@

# @LISTS@

_rocmenv_run() { @LAUNCHER@ "$@"; }

# mksh has no printf of its own.
case ${KSH_VERSION-} in
  '') _rocmenv_tell() { printf 'rocmenv: %s\n' "$1" >&2; } ;;
  *) _rocmenv_tell() { print -r -- "rocmenv: $1" >&2; } ;;
esac

# TEXT OLD NEW: in _rocmenv_x with every OLD as NEW.
_rocmenv_swap() {
  _rocmenv_x='' _rocmenv_y=$1
  while :; do
    case $_rocmenv_y in
      *"$2"*) _rocmenv_x=$_rocmenv_x${_rocmenv_y%%"$2"*}$3 _rocmenv_y=${_rocmenv_y#*"$2"} ;;
      *) _rocmenv_x=$_rocmenv_x$_rocmenv_y; return 0 ;;
    esac
  done
}
_rocmenv_escape() {
  case $1 in
    *%* | *\|* | *"$_rocmenv_nl"*) ;;
    *) _rocmenv_x=$1; return 0 ;;
  esac
  _rocmenv_swap "$1" % %25
  _rocmenv_swap "$_rocmenv_x" '|' %7C
  _rocmenv_swap "$_rocmenv_x" "$_rocmenv_nl" %0A
}
_rocmenv_unescape() {
  case $1 in *%*) ;; *) _rocmenv_x=$1; return 0 ;; esac
  _rocmenv_swap "$1" %0A "$_rocmenv_nl"
  _rocmenv_swap "$_rocmenv_x" %7C '|'
  _rocmenv_swap "$_rocmenv_x" %25 %
}

# NAME: its present state in _rocmenv_a (+ set, - unset) and its text in _rocmenv_c.
_rocmenv_now() { eval "_rocmenv_a=\${$1+\\+}; _rocmenv_c=\${$1-}; _rocmenv_a=\${_rocmenv_a:--}"; }

# NAME STATE TEXT, STATE + or -: note the change, then make it.
_rocmenv_change() {
  _rocmenv_now "$1"
  [ "$_rocmenv_a$_rocmenv_c" != "$2$3" ] || return 0
  _rocmenv_escape "$_rocmenv_c"
  _rocmenv_diff="$_rocmenv_diff|$1|$_rocmenv_a$_rocmenv_x"
  _rocmenv_escape "$3"
  _rocmenv_diff="$_rocmenv_diff|$2$_rocmenv_x"
  _rocmenv_give "$1" "$2" "$3"
}
# `command`: a readonly variable must not end dash, which else takes it for the end of all.
case ${ZSH_VERSION-} in
  '') _rocmenv_give() { case $2 in +) command eval "$1=\$3; export $1" ;; *) command unset "$1" ;; esac; } ;;
  *) _rocmenv_give() { case $2 in +) eval "$1=\$3; export $1" ;; *) unset "$1" ;; esac; } ;;
esac
_rocmenv_set() { _rocmenv_change "$1" + "$2"; }
_rocmenv_clear() {
  for _rocmenv_e in "$@"; do _rocmenv_change "$_rocmenv_e" - ''; done
}
_rocmenv_begin() { _rocmenv_v=$1 _rocmenv_diff="1|$1"; _rocmenv_named; }
_rocmenv_in() { :; }
_rocmenv_end() { ROCMENV_DIFF=$_rocmenv_diff; export ROCMENV_DIFF; }

# Take back what ROCMENV_DIFF records. The version that was active is then in _rocmenv_left,
# the variables that were changed by hand since, and keep their text, in _rocmenv_kept.
_rocmenv_undo() {
  _rocmenv_left='' _rocmenv_kept=''
  case ${ROCMENV_DIFF-} in 1\|*) ;; *) unset ROCMENV_DIFF; return 0 ;; esac
  _rocmenv_s=${ROCMENV_DIFF#1?}\|
  unset ROCMENV_DIFF
  _rocmenv_left=${_rocmenv_s%%\|*} _rocmenv_s=${_rocmenv_s#*\|}
  while [ -n "$_rocmenv_s" ]; do
    _rocmenv_k=${_rocmenv_s%%\|*} _rocmenv_s=${_rocmenv_s#*\|}
    _rocmenv_b=${_rocmenv_s%%\|*} _rocmenv_s=${_rocmenv_s#*\|}
    _rocmenv_t=${_rocmenv_s%%\|*} _rocmenv_s=${_rocmenv_s#*\|}
    # Only what an activation changes: a record may come from anywhere.
    case $_rocmenv_k in
      @FAMILY@) ;;
      *) continue ;;
    esac
    _rocmenv_now "$_rocmenv_k"
    _rocmenv_unescape "${_rocmenv_t#?}"
    _rocmenv_e=$_rocmenv_x
    _rocmenv_unescape "${_rocmenv_b#?}"
    if [ "$_rocmenv_a$_rocmenv_c" = "${_rocmenv_t%"${_rocmenv_t#?}"}$_rocmenv_e" ]; then
      _rocmenv_give "$_rocmenv_k" "${_rocmenv_b%"${_rocmenv_b#?}"}" "$_rocmenv_x"
    else
      case $_rocmenv_k in
        @NAMES@)
          case $_rocmenv_a in +) _rocmenv_unlist "$_rocmenv_k" "$_rocmenv_x" "$_rocmenv_e" ;; esac
          ;;
        *) _rocmenv_kept="$_rocmenv_kept $_rocmenv_k" ;;
      esac
    fi
  done
}

# NAME BEFORE AFTER, with the present list in _rocmenv_c: as rocmenv.env.pathlist.undo.
_rocmenv_unlist() {
  case ${3:+:$_rocmenv_c:} in
    *":$3:"*)
      _rocmenv_l=:$_rocmenv_c:
      _rocmenv_x=${_rocmenv_l%%":$3:"*} _rocmenv_y=${_rocmenv_l#*":$3:"}
      _rocmenv_l=$_rocmenv_x${2:+:$2}
      [ -z "$_rocmenv_y" ] || _rocmenv_l=$_rocmenv_l:${_rocmenv_y%:}
      case $_rocmenv_l in
        '') unset "$1" ;;
        *) _rocmenv_give "$1" + "${_rocmenv_l#:}" ;;
      esac
      return 0
      ;;
  esac
  # Framed lists: `:a:b:`, and `:` for none. First what was removed (r) and what stayed (s).
  _rocmenv_l=:${_rocmenv_c:+$_rocmenv_c:} _rocmenv_x=:${3:+$3:} _rocmenv_y='' _rocmenv_z=${2:+$2:}
  while [ -n "$_rocmenv_z" ]; do
    _rocmenv_e=${_rocmenv_z%%:*} _rocmenv_z=${_rocmenv_z#*:}
    case $_rocmenv_x in
      *":$_rocmenv_e:"*)
        _rocmenv_x=${_rocmenv_x%%":$_rocmenv_e:"*}:${_rocmenv_x#*":$_rocmenv_e:"}
        _rocmenv_y=${_rocmenv_y}s
        ;;
      *) _rocmenv_y=${_rocmenv_y}r ;;
    esac
  done
  # What is left in _rocmenv_x was added: one occurrence of each goes.
  _rocmenv_x=${_rocmenv_x#:}
  while [ -n "$_rocmenv_x" ]; do
    _rocmenv_e=${_rocmenv_x%%:*} _rocmenv_x=${_rocmenv_x#*:}
    case $_rocmenv_l in
      *":$_rocmenv_e:"*) _rocmenv_l=${_rocmenv_l%%":$_rocmenv_e:"*}:${_rocmenv_l#*":$_rocmenv_e:"} ;;
    esac
  done
  # What was removed comes back behind the entry that it stood behind.
  _rocmenv_z=${2:+$2:} _rocmenv_n='' _rocmenv_b=''
  while [ -n "$_rocmenv_z" ]; do
    _rocmenv_e=${_rocmenv_z%%:*} _rocmenv_z=${_rocmenv_z#*:}
    case $_rocmenv_y in
      r*)
        case $_rocmenv_n$_rocmenv_l in
          1*":$_rocmenv_b:"*)
            _rocmenv_l=${_rocmenv_l%%":$_rocmenv_b:"*}:$_rocmenv_b:$_rocmenv_e:${_rocmenv_l#*":$_rocmenv_b:"} ;;
          *) _rocmenv_l=:$_rocmenv_e$_rocmenv_l ;;
        esac
        ;;
    esac
    _rocmenv_b=$_rocmenv_e _rocmenv_n=1 _rocmenv_y=${_rocmenv_y#?}
  done
  case $_rocmenv_l in
    :) unset "$1" ;;
    *) _rocmenv_l=${_rocmenv_l#:}; _rocmenv_give "$1" + "${_rocmenv_l%:}" ;;
  esac
}

# Make the environment fit the version wanted here, if that has changed. Keeps $?.
_rocmenv_hook() {
  _rocmenv_status=$?
  [ -z "${_rocmenv_off-}" ] || return "$_rocmenv_status"
  _rocmenv_wanted
  if [ "$_rocmenv_w|$_rocmenv_f" != "${_rocmenv_last-}" ]; then _rocmenv_apply || :; fi
  return "$_rocmenv_status"
}

# Until it is done, an interrupt leaves a note that fits nothing: the next prompt does it again.
# Once only: bash has its prompt after an interrupt wait for that, which may hang, too.
_rocmenv_apply() {
  _rocmenv_first=${_rocmenv_last+x}
  _rocmenv_key="$_rocmenv_w|$_rocmenv_f"
  case ${_rocmenv_last-} in
    -) _rocmenv_last=$_rocmenv_key ;;
    *) _rocmenv_last=- ;;
  esac
  _rocmenv_change_over && _rocmenv_e=0 || _rocmenv_e=$?
  [ "$_rocmenv_e" -eq 130 ] || _rocmenv_last=$_rocmenv_key
  return "$_rocmenv_e"
}
_rocmenv_change_over() {
  _rocmenv_undo
  _rocmenv_v=''
  case $_rocmenv_w in
    '' | system) _rocmenv_say; return 0 ;;
    .* | *[!A-Za-z0-9._+-]*) ;;
    *) [ ! -r "$_rocmenv_r/activations/$_rocmenv_w.sh" ] || . "$_rocmenv_r/activations/$_rocmenv_w.sh" ;;
  esac
  if [ -z "$_rocmenv_v" ]; then
    _rocmenv_w=$(ROCMENV_SHIM_ROOT=$_rocmenv_r _rocmenv_run resolve --one-line) || return
    [ "$_rocmenv_w" != system ] || { _rocmenv_say; return 0; }
    [ ! -r "$_rocmenv_r/activations/$_rocmenv_w.sh" ] || . "$_rocmenv_r/activations/$_rocmenv_w.sh"
    if [ -z "$_rocmenv_v" ]; then
      # An install that was stopped between its last two steps has no rendered text yet, and
      # that of a link whose prefix was built anew does not fit any more.
      _rocmenv_n=$(ROCMENV_SHIM_ROOT=$_rocmenv_r _rocmenv_run env --shell sh "$_rocmenv_w") || return
      eval "$_rocmenv_n"
      _rocmenv_v=$_rocmenv_w
    fi
  fi
  _rocmenv_say
}

# One line when the version changes: not at the first prompt, and not for the same again.
_rocmenv_say() {
  _rocmenv_n=${_rocmenv_v:-system}
  [ -z "$_rocmenv_kept" ] || _rocmenv_n="$_rocmenv_n; kept$_rocmenv_kept, changed by hand"
  [ -n "$_rocmenv_kept" ] || [ -n "$_rocmenv_first" ] || return 0
  [ -n "$_rocmenv_kept" ] || [ "${_rocmenv_left:-system}" != "$_rocmenv_n" ] || return 0
  case $_rocmenv_w in
    '') _rocmenv_tell "$_rocmenv_n" ;;
    *) _rocmenv_tell "$_rocmenv_n (set by $_rocmenv_f)" ;;
  esac
}

_rocmenv_use() {
  _rocmenv_off=''
  case $# in
    0) unset ROCMENV_VERSION ;;
    *)
      _rocmenv_w=$(ROCMENV_SHIM_ROOT=$_rocmenv_r _rocmenv_run resolve -- "$1") || return
      ROCMENV_VERSION=$_rocmenv_w
      export ROCMENV_VERSION
      ;;
  esac
  _rocmenv_wanted
  _rocmenv_last=''
  _rocmenv_apply
}

# The function that people call is made of this one at the end, once no alias is in its way.
_rocmenv_command() {
  case "${1-}:${2-}:$#" in
    use::1 | shell:--unset:2) _rocmenv_use ;;
    use:--:3 | shell:--:3) _rocmenv_use "$3" ;;
    shell:-*:* | shell::1) _rocmenv_run "$@" ;;
    use:[!-]*:2 | shell:[!-]*:2 | use::2 | shell::2) _rocmenv_use "$2" ;;
    deactivate::1)
      if [ -z "${ROCMENV_DIFF-}" ]; then
        _rocmenv_tell 'nothing is recorded in this shell, so nothing was changed'
        _rocmenv_off=1
        return 0
      fi
      _rocmenv_first=x _rocmenv_w='' _rocmenv_v='' _rocmenv_last='' _rocmenv_off=1
      _rocmenv_undo
      unset ROCMENV_VERSION
      _rocmenv_say
      ;;
    *)
      _rocmenv_run "$@" || return
      case ${1-} in
        use | local | global | install | uninstall | discover | link | unlink | rehash | config)
          _rocmenv_last=''
          _rocmenv_hook
          ;;
      esac
      ;;
  esac
}

case :${PATH-}: in
  *:"$_rocmenv_r/shims":*) ;;
  *) PATH=$_rocmenv_r/shims${PATH:+:$PATH}; export PATH ;;
esac
