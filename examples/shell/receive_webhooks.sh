#!/bin/bash
# Receives webhook messages, verifies them, and prints their types and tasks. Needs jq and systemd-socket-activate.
# usage: SECRET=whsec_… receive_webhooks.sh PORT
set -euo pipefail

if [ $# = 1 ]; then
  # systemd-socket-activate starts this script again for each connection, which is then its standard input and output.
  echo "listening on http://127.0.0.1:$1"
  # The filter removes its log.
  exec systemd-socket-activate --accept --inetd --listen "127.0.0.1:$1" --setenv SECRET "$(readlink -f "$0")" \
    2> >(grep --line-buffered -E '^[a-zA-Z]+\.[a-zA-Z]+( |$)')
fi

reply() {
  printf 'HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "$1"
  exit
}

read -r request
while IFS=': ' read -r name value && [ "$name" != $'\r' ]; do
  value=${value%$'\r'}
  case ${name,,} in
    content-length) length=$value ;;
    webhook-id) id=$value ;;
    webhook-timestamp) time=$value ;;
    webhook-signature) signatures=$value ;;
  esac
done
[[ $request == POST* && ${length-} =~ ^[0-9]{1,8}$ && ${time-} =~ ^[0-9]{1,12}$ ]] || reply '400 Bad Request'
# The substitution would remove line feeds at the end.
body=$(head -c "$length" && echo .)
body=${body%.}

# The signed text is the id, the time and the body as it was received, joined by dots.
age=$(($(date +%s) - 10#$time))
[ "${age#-}" -le 300 ] || reply '401 Unauthorized'
# This is HMAC-SHA256 in the shell, because every user of the machine can read a key among the options of a program.
digits=$(base64 -d <<<"${SECRET#whsec_}" | od -An -v -tx1 | tr -d ' \n')
printf -v digits '%-128s' "$digits"
digits=${digits// /0}
bytes() { printf "$(sed 's/../\\x&/g' <<<"$1")"; }
pad() {
  local place byte text=
  for ((place = 0; place < 128; place += 2)); do
    printf -v byte '\\x%02x' $((16#${digits:place:2} ^ $1))
    text+=$byte
  done
  printf "$text"
}
inner=$({ pad 0x36; printf '%s.%s.' "${id-}" "$time"; printf %s "$body"; } | sha256sum)
outer=$({ pad 0x5c; bytes "${inner%% *}"; } | sha256sum)
expected=v1,$(bytes "${outer%% *}" | base64 -w0)
[[ " ${signatures-} " == *" $expected "* ]] || reply '401 Unauthorized'

jq -r '[.type, .data.taskId, .data.status // empty] | map(tostring) | join(" ")' <<<"$body" >&2
reply '204 No Content'
