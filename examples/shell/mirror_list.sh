#!/bin/bash
# Downloads the URLs of a list, one a line, to a directory, and shows the progress.
# usage: mirror_list.sh LIST DIRECTORY
set -euo pipefail
. "$(dirname "$0")/ferry.sh"
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
list=$1 directory=$2 group=mirror-$(cat /proc/sys/kernel/random/uuid) failures=0
mkdir -p "$directory"

creations=$(jq -Rc --arg group "$group" 'select(test("\\S")) | {
    kind: "download", resume: true, failOnStatus: true, retry: {maximumAttempts: 5}, group: $group, request: {url: .},
    labels: {file: (sub("[?#].*"; "") | sub("^[^:]*://[^/]*/?"; "") | split("/") | last // "" | if IN("", ".", "..") then "index.html" else . end)}
  }' "$list")
twice=$(jq -r .labels.file <<<"$creations" | sort | uniq -d)
[ -z "$twice" ] || { echo "mirror_list.sh: several URLs have these names:" $twice >&2; exit 1; }

results=$(call POST /v1/tasks -H 'Content-Type: application/x-ndjson' --data-binary @- <<<"$creations")
jq -r 'select(.id | not) | "line \(.line): \(.title); \(.errors[0].detail // .detail)"' <<<"$results" >&2
jq -se 'all(.id)' <<<"$results" >/dev/null || failures=1
jq -se 'any(.id)' <<<"$results" >/dev/null || exit 1

call POST "/v1/groups/$group/close" >/dev/null
state=
until [ "$state" = completed ]; do
  found=$(call GET "/v1/groups/$group" -H 'Prefer: wait=1')
  jq -r '.countOfBytesReceived as $bytes | .tasks | "\(.succeeded + .failed + .cancelled) of \(add) files, \($bytes) bytes"' <<<"$found"
  state=$(jq -r .state <<<"$found")
done

cursor=
until [ "$cursor" = null ]; do
  page=$(call GET "/v1/tasks?limit=500&group=$group${cursor:+&cursor=$cursor}")
  cursor=$(jq -r .nextCursor <<<"$page")
  while IFS=$'\t' read -r id file digest error; do
    if [ -n "$error" ]; then
      echo "$file: $error" >&2
      failures=1
    else
      call GET "/v1/tasks/$id/body" -o "$directory/.$file.part"
      sha256sum --check --quiet <<<"$digest *$directory/.$file.part"
      mv "$directory/.$file.part" "$directory/$file"
    fi
  done < <(jq -r '.items[] | [.id, .labels.file, .body.sha256 // "-", .error.message // ""] | @tsv' <<<"$page")
done
exit "$failures"
