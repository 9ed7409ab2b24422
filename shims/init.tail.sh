# sh, dash, ksh: there is no hook before the prompt that starts no process, so `cd` calls ours.
# An alias of that name would be put in its place here; it is kept, and then calls ours.
_rocmenv_x=$(alias cd 2>/dev/null) || _rocmenv_x=''
unalias cd rocmenv 2>/dev/null || :
eval 'cd() { command cd "$@" && _rocmenv_hook; }
rocmenv() { _rocmenv_command "$@"; }'
[ -z "$_rocmenv_x" ] || eval "alias ${_rocmenv_x#alias }" # bash says `alias cd=...`
_rocmenv_hook
