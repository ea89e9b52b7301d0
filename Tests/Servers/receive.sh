#!/bin/sh
# A CGI program: stores the request's body in the folder UPLOADS, under the last component of its path.
set -eu
name=$(basename "$REDIRECT_URL")
cat >"$UPLOADS/.$name"
mv "$UPLOADS/.$name" "$UPLOADS/$name"
printf 'Status: 201 Created\r\nContent-Type: text/plain\r\n\r\nreceived %s\n' "$(stat -c %s "$UPLOADS/$name")"
