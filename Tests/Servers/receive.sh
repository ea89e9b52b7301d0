#!/bin/sh
# CGI: keeps the body of a request under the last part of its path, in the folder UPLOADS.
set -eu
name=$(basename "$REDIRECT_URL")
cat >"$UPLOADS/.$name"
mv "$UPLOADS/.$name" "$UPLOADS/$name"
printf 'Status: 201 Created\r\nContent-Type: text/plain\r\n\r\nreceived %s\n' "$(stat -c %s "$UPLOADS/$name")"
