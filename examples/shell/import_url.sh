#!/bin/bash
# Downloads a URL into Ferry, which posts a webhook message when the download has ended.
# usage: [SECRET=whsec_…] import_url.sh URL WEBHOOK
set -euo pipefail
. "$(dirname "$0")/ferry.sh"
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }

# Without a secret, the service signs with its own.
task=$(jq -n --arg url "$1" --arg webhook "$2" '{
    kind: "download", resume: true, failOnStatus: true, request: {url: $url}, retry: {maximumAttempts: 5},
    completion: {webhook: ({url: $webhook} + if env.SECRET then {secret: env.SECRET} else {} end)}
  }' | call POST /v1/tasks --json @-)
jq -r .id <<<"$task"
