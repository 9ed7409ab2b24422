# bash: the hook runs before each prompt, once, whatever else PROMPT_COMMAND holds.
case ";${PROMPT_COMMAND[*]-};" in
  *_rocmenv_prompt*) ;;
  *) PROMPT_COMMAND="_rocmenv_prompt${PROMPT_COMMAND:+;$PROMPT_COMMAND}" ;;
esac
_rocmenv_hook
