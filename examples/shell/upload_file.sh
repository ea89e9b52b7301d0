#!/bin/bash
# Sends a file to a URL with PUT. Ferry repeats the upload if the connection fails.
# usage: upload_file.sh FILE URL
set -euo pipefail
. "$(dirname "$0")/ferry.sh"
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }

# -T streams the file; --data-binary would read all of it into memory.
stored=$(call POST /v1/files -H 'Content-Type: application/octet-stream' -T "$1" | jq -r .id)
trap 'call DELETE "/v1/files/$stored"' EXIT
task=$(jq -n --arg url "$2" --arg file "$stored" '{
    kind: "upload", resume: true, failOnStatus: true, retry: {maximumAttempts: 5},
    request: {url: $url, method: "PUT", body: {file: $file}}
  }' | call POST /v1/tasks --json @- | jq -r .id)
ended "$task" | jq -r '"\(.progress.countOfBytesSent) bytes sent"'
