# zsh: the shared functions are written for sh, so each entry point emulates it.
functions[_rocmenv_hook_sh]=${functions[_rocmenv_hook]}
_rocmenv_hook() {
  local _rocmenv_keep=$?
  emulate -L sh
  _rocmenv_hook_sh
  return "$_rocmenv_keep"
}
# Read when it runs, with no alias in its way: zsh puts aliases even where a function is named.
unalias rocmenv 2>/dev/null || :
eval 'rocmenv() { emulate -L sh; _rocmenv_command "$@"; }'
typeset -ga precmd_functions chpwd_functions
(( ${precmd_functions[(I)_rocmenv_prompt]} )) || precmd_functions+=(_rocmenv_prompt)
(( ${chpwd_functions[(I)_rocmenv_prompt]} )) || chpwd_functions+=(_rocmenv_prompt)
_rocmenv_hook
