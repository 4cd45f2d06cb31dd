#!/usr/bin/env bash
# One job of a night. Everything comes by environment: what action.yml sets, and what the runner does.
set -euo pipefail

memory=$ARTIFACT_PATH/memory.bundle
night=$ARTIFACT_PATH/night.json
report=$RUNNER_TEMP/skillopt-report.md
venv=$RUNNER_TEMP/skillopt-venv
python=$venv/bin/python
if [[ ${RUNNER_OS:-} == Windows ]]; then python=$venv/Scripts/python.exe; fi

# --- telling -----------------------------------------------------------------

output() { echo "$1=$2" >>"$GITHUB_OUTPUT"; }

skip() {
  echo "skipped: $1"
  echo "skillopt-git $COMMAND, skipped: $1" >>"$GITHUB_STEP_SUMMARY"
  output skipped "$1"
  exit 0
}

refuse() {
  echo "::error title=skillopt-git::$1"
  trap - EXIT
  exit 2
}

explain() {
  local code=$? why
  case $code in
    0) return ;;
    2) why="the settings or the inputs are wrong" ;;
    4) why="too many calls failed to say anything" ;;
    5) why="a safety door is closed: nothing was proposed" ;;
    75) why="busy or out of reach: the next night tries again" ;;
    *) why="it failed" ;;
  esac
  echo "::error title=skillopt-git $COMMAND::$why (exit $code); the log of this step says more"
}

# What the tool prints is data and no command to the runner; of two streams one might come after the word that ends this.
tool() {
  local word code=0
  word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$word"
  "$@" 2>&1 || code=$?
  printf '\n::%s::\n' "$word"
  return "$code"
}

# The tool may have said so itself: turned off in the settings, or paused by a label.
skipped() { grep '^skipped=.' "$GITHUB_OUTPUT" >/dev/null; }

# A report quotes what people typed, and a log may have more readers than they had.
unread() { "$@" >"$report"; }

# --- whether to begin --------------------------------------------------------

check_command() {
  case $COMMAND in
    prepare | learn | propose | run) ;;
    *) refuse "the input 'command' must be prepare, learn, propose or run" ;;
  esac
}

# In these nothing could be done, and nothing is wrong.
leave_early() {
  case $GITHUB_EVENT_NAME in
    schedule | workflow_dispatch) ;; # there the actor is whoever changed the workflow last
    *)
      if [[ $GITHUB_ACTOR == "dependabot[bot]" ]]; then
        skip "an event of Dependabot comes without secrets, and with a token that may only read"
      fi
      ;;
  esac
  if [[ -n $HEAD_REPOSITORY && $HEAD_REPOSITORY != "$GITHUB_REPOSITORY" ]]; then
    skip "a pull request from a fork comes without secrets, and with a token that may only read"
  fi
  case ${SKILLOPT_DISABLED:-} in
    "" | 0 | false) ;;
    *) skip "SKILLOPT_DISABLED is set" ;;
  esac
  if [[ $FORK == true && $COMMAND =~ ^(learn|run)$ && $BACKEND != mock ]] &&
    ! env | grep -E '_(API_KEY|AUTH_TOKEN|OAUTH_TOKEN)=.' >/dev/null; then
    skip "this fork has no key of a model"
  fi
}

check_keys() {
  case $COMMAND in
    learn)
      if [[ -n $SKILLOPT_GITHUB_TOKEN ]]; then refuse "'learn' talks to models, and must not be given a token"; fi
      if [[ -n $(git config --name-only --get-regexp '^http\..*extraheader$' || true) ]]; then
        refuse "the clone holds credentials: 'learn' needs a checkout with 'persist-credentials: false'"
      fi
      ;;
    propose | run)
      if [[ -z $SKILLOPT_GITHUB_TOKEN ]]; then refuse "'$COMMAND' needs the input 'token'"; fi
      ;;
  esac
}

# --- making ready ------------------------------------------------------------

# What was asked for by inputs goes before every file of settings; what was not is left to them.
settings() {
  local pair
  for pair in "REPLAY_BACKEND=$BACKEND" "REPLAY_MODEL=$MODEL" "REPLAY_OPTIMIZER_BACKEND=$OPTIMIZER_BACKEND" \
    "REPLAY_OPTIMIZER_MODEL=$OPTIMIZER_MODEL" "REPLAY_BASE_URL=$BASE_URL" "REPLAY_SEND=$SEND" \
    "BUDGET_TOKENS=$BUDGET_TOKENS" "BUDGET_USD=$BUDGET_USD" "BUDGET_MINUTES=$BUDGET_MINUTES"; do
    if [[ -n ${pair#*=} ]]; then export "SKILLOPT_$pair"; fi
  done
}

# What the chosen backends need beside; what Azure does holds the other's too.
extra() {
  case "${SKILLOPT_REPLAY_BACKEND:-} ${SKILLOPT_REPLAY_OPTIMIZER_BACKEND:-} ${SKILLOPT_REPLAY_RECORD:-}" in
    *azure_openai*) echo "[azure]" ;;
    *openai*) echo "[openai]" ;;
  esac
}

interpreter() {
  local name
  if [[ -n $PYTHON ]]; then set -- "$PYTHON"; else set -- python3 python; fi
  for name in "$@"; do
    if "$name" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

install() {
  if [[ -e $venv/.ready ]]; then return; fi
  local found
  found=$(interpreter) || refuse "there is no Python 3.11 or newer: the input 'python' may name one"
  "$found" -I -m venv --clear "$venv"
  "$python" -I -m pip install --quiet --disable-pip-version-check \
    --constraint "$GITHUB_ACTION_PATH/constraints.txt" "$GITHUB_ACTION_PATH/../..$(extra)"
  touch "$venv/.ready"
}

# For git by environment alone. What a checkout has left under the same name is dropped first: a header that comes twice
# is an error.
credentials() {
  local key="http.$GITHUB_SERVER_URL/.extraheader" count=${GIT_CONFIG_COUNT:-0} basic
  if [[ -z $SKILLOPT_GITHUB_TOKEN ]]; then return; fi
  if [[ $OF_JOB == true ]]; then export GITHUB_TOKEN=$SKILLOPT_GITHUB_TOKEN; fi # so that a remedy fits its kind
  basic=$(printf 'x-access-token:%s' "$SKILLOPT_GITHUB_TOKEN" | base64 | tr -d '\r\n')
  echo "::add-mask::$basic"
  export "GIT_CONFIG_KEY_$count=$key" "GIT_CONFIG_VALUE_$count="
  count=$((count + 1))
  export "GIT_CONFIG_KEY_$count=$key" "GIT_CONFIG_VALUE_$count=AUTHORIZATION: basic $basic"
  export GIT_CONFIG_COUNT=$((count + 1))
}

# --- the jobs ----------------------------------------------------------------

prepare() {
  local refs
  credentials
  tool "$python" -I -m skillopt_git sync
  if skipped; then return; fi
  # What the next job's clone has anyway stays out; on a first night that is all there is.
  refs=$(git for-each-ref --no-merged=HEAD --format='%(refname)' \
    refs/skillopt refs/heads/skillopt refs/heads/sleep)
  echo "${refs:-nothing yet}" >"$ARTIFACT_PATH/memory.txt"
  if [[ -n $refs ]]; then
    printf '%s\n^%s\n' "$refs" "$(git rev-parse HEAD)" | git bundle create --quiet "$memory" --stdin
  fi
  output ready true
}

learn() {
  local code=0
  unset SKILLOPT_GITHUB_TOKEN GITHUB_TOKEN GH_TOKEN
  if [[ -f $memory ]]; then
    git fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules "$memory" \
      '+refs/skillopt/*:refs/skillopt/*' '+refs/heads/skillopt/*:refs/heads/skillopt/*' \
      '+refs/heads/sleep/*:refs/heads/sleep/*'
  fi
  rm -f "$night"
  tool unread "$python" -I -m skillopt_git learn --bundle "$night" || code=$?
  output report-path "$report"
  # Also a night that could measure nothing is one to record. Turned off, the tool leaves no file.
  if [[ -f $night ]]; then output ready true; fi
  return "$code"
}

propose() {
  if [[ ! -f $night ]]; then refuse "there is no night.json in the folder 'artifact-path': download it first"; fi
  credentials
  if [[ $ALLOW_SIMULATED == true ]]; then set -- --allow-simulated; fi
  tool "$python" -I -m skillopt_git propose "$@" "$night"
}

run() {
  credentials
  if [[ $ALLOW_SIMULATED == true ]]; then set -- --allow-simulated; fi
  tool unread "$python" -I -m skillopt_git run --pr "$@"
}

trap explain EXIT
check_command
leave_early
check_keys
unset GITHUB_ENV GITHUB_PATH # nothing that runs here chooses what later steps run
settings
mkdir -p "$ARTIFACT_PATH"
install
"$COMMAND"
if skipped; then sed -n 's/^skipped=/skipped: /p' "$GITHUB_OUTPUT"; fi
