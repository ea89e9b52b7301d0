#!/bin/bash
# Downloads a URL to a file, and logs in if the server asks for a user and a password.
# usage: ORIGIN_USER=… ORIGIN_PASSWORD=… answer_challenge.sh URL FILE
set -euo pipefail
. "$(dirname "$0")/ferry.sh"
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }

session=$(call POST /v1/sessions --json '{"delegate": {"taskChallenges": "ask"}}' | jq -r .id)
task=$(jq -n --arg url "$1" '{kind: "download", resume: true, failOnStatus: true, request: {url: $url}}' |
  call POST "/v1/sessions/$session/tasks" --json @- | jq -r .id)

# Each request waits for the next event. The password is in the environment of jq, so no command line shows it.
after=0 type=
while [ "$type" != task.didComplete ]; do
  page=$(call GET "/v1/sessions/$session/events?limit=1&types=task.didReceiveChallenge,task.didComplete&after=$after" \
    -H 'Accept: application/json' -H 'Prefer: wait=60' -m 90)
  after=$(jq -r .nextAfter <<<"$page")
  type=$(jq -r '.items[0].type // ""' <<<"$page")
  if [ "$type" = task.didReceiveChallenge ]; then
    jq -r '.items[0].data.protectionSpace.host + " asks for a password"' <<<"$page"
    jq 'if .items[0].data.previousFailureCount > 0 then {disposition: "cancelAuthenticationChallenge"} else
        {disposition: "useCredential", credential: {user: env.ORIGIN_USER, password: env.ORIGIN_PASSWORD}} end' <<<"$page" |
      call POST "/v1/decisions/$(jq -r '.items[0].data.decisionId' <<<"$page")" --json @- >/dev/null
  fi
done
ended "$task" >/dev/null
call GET "/v1/tasks/$task/body" -o "$2"
call POST "/v1/sessions/$session/invalidate" >/dev/null
