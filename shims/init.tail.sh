# sh, dash, ksh: there is no hook before the prompt that starts no process, so `cd` calls ours.
cd() { command cd "$@" && _rocmenv_hook; }
_rocmenv_hook
