# The function that all examples use. It needs curl and jq.

# call METHOD PATH [CURL OPTIONS] prints the reply. If the request fails, the function prints the reason and fails too.
# A creation has a key, so that curl can repeat it safely.
call() {
  local server=${FERRY_SERVER:-http://127.0.0.1:8080} method=$1 path=$2 reply fields=()
  shift 2
  [ "$method" != POST ] || fields=(-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)")
  # curl reads the token from a pipe, because every user of the machine can read command lines.
  if reply=$(curl -s --fail-with-body --retry 3 -X "$method" "${fields[@]}" "$@" "${server%/}$path" \
      -H @<(printf '%s' "${FERRY_TOKEN:+Authorization: Bearer $FERRY_TOKEN}")); then
    printf '%s' "$reply"
  else
    echo "${0##*/}: $method $path: $(jq -r '[.title, .detail, (.errors[]? | .pointer + ": " + .detail)] | map(values) | join("; ")' \
      2>/dev/null <<<"${reply:-x}" || echo "${reply:-$server cannot be reached}")" >&2
    return 1
  fi
}

# ended TASK waits until a task has ended, and prints it. It fails if the task has an error.
ended() {
  local task={}
  until jq -e '.state == "completed"' <<<"$task" >/dev/null; do
    task=$(call GET "/v1/tasks/$1" -H 'Prefer: wait=60' -m 90) || return 1
  done
  jq -e '.error == null' <<<"$task" >/dev/null || { echo "${0##*/}: $(jq -r .error.message <<<"$task")" >&2; return 1; }
  printf '%s' "$task"
}
