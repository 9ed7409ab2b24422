# bash and zsh: before a prompt, most of the time nothing has changed. In the same folder, with
# the same ROCMENV_VERSION, the same file is still the nearest pin and still has the same
# text: that is seen with a few tests and one read, and the rest is left out. Keeps $?.
_rocmenv_pwd='' _rocmenv_var='' _rocmenv_seen='' _rocmenv_text=''
_rocmenv_prompt() {
  local _rocmenv_keep=$? _rocmenv_at _rocmenv_now=''
  if [[ $PWD == "$_rocmenv_pwd" && ${ROCMENV_VERSION-} == "$_rocmenv_var" ]]; then
    [[ -z $_rocmenv_var ]] || return "$_rocmenv_keep"
    _rocmenv_at=$PWD
    [[ $PWD == /* ]] || _rocmenv_at=''
    while [[ ! -f $_rocmenv_at/.rocm-version && -n $_rocmenv_at ]]; do
      _rocmenv_at=${_rocmenv_at%/*}
    done
    _rocmenv_at=$_rocmenv_at/.rocm-version
    [[ -f $_rocmenv_at ]] || _rocmenv_at=$_rocmenv_r/version
    if [[ $_rocmenv_at == "$_rocmenv_seen" ]]; then
      # `read` fails at the end of the file, where no NUL is: that must not end `set -e`.
      [[ ! -r $_rocmenv_at ]] || IFS='' read -r -d '' _rocmenv_now <"$_rocmenv_at" || :
      [[ $_rocmenv_now != "$_rocmenv_text" ]] || return "$_rocmenv_keep"
    fi
  fi
  _rocmenv_pwd='' # for an interrupt in between
  _rocmenv_hook
  _rocmenv_pwd=$PWD _rocmenv_var=${ROCMENV_VERSION-} _rocmenv_seen=$_rocmenv_f _rocmenv_text=''
  [[ ! -r $_rocmenv_seen ]] || IFS='' read -r -d '' _rocmenv_text <"$_rocmenv_seen" || :
  return "$_rocmenv_keep"
}
