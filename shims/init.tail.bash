# bash: the hook runs before each prompt, once, whatever else PROMPT_COMMAND holds.
case ";${PROMPT_COMMAND[*]-};" in
  *_rocmenv_prompt*) ;;
  *) PROMPT_COMMAND="_rocmenv_prompt${PROMPT_COMMAND:+;$PROMPT_COMMAND}" ;;
esac
unalias rocmenv 2>/dev/null || :
eval 'rocmenv() { _rocmenv_command "$@"; }'
_rocmenv_hook
