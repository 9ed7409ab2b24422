# Read by tests/run and tests/demo: what both need on a fresh Debian or Ubuntu machine.
# Does nothing for what is there already. Uses sudo where it is not root.

say() { printf '\n== %s\n' "$1" >&2; }

# COMMAND=PACKAGE...: install the packages whose command is missing.
need() {
  missing=''
  for pair in "$@"; do
    # Some are where only root looks.
    PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%=*}" >/dev/null 2>&1 || missing="$missing ${pair#*=}"
  done
  # A Python without ensurepip can make no virtual environment (Debian splits it off).
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
  [ -n "$missing" ] || return 0
  say "installing packages:$missing"
  as_root=''
  [ "$(id -u)" = 0 ] || as_root=sudo
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# GROUP: the virtual environment in .venv, with rocmenv as it stands here and that group of
# pyproject.toml. `dev` has all that `test` has, and is not made smaller again.
environment() {
  stamp=.venv/made-for
  now="$1 $(cksum pyproject.toml)"
  made=$(cat "$stamp" 2>/dev/null) || made=''
  if [ ! -x .venv/bin/rocmenv ] || { [ "$made" != "$now" ] && [ "$made" != "dev ${now#* }" ]; }; then
    say "making the virtual environment"
    python3 -m venv .venv
    .venv/bin/python -m pip install -q --upgrade pip
    .venv/bin/python -m pip install -q -e . --group "$1"
    printf '%s\n' "$now" >"$stamp"
  fi
}
