#!/usr/bin/env python3
"""A TLS 1.3 server that wants a client certificate and gets none: it says so in an alert, and leaves at once."""
import socket
import ssl
import sys
import threading

port, directory = int(sys.argv[1]), sys.argv[2]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{directory}/leaf.pem", f"{directory}/key.pem")
context.load_verify_locations(f"{directory}/authority.pem")
context.verify_mode = ssl.CERT_REQUIRED
context.minimum_version = ssl.TLSVersion.TLSv1_3


def serve(client):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)
    with client:
        try:
            while True:
                try:
                    return tls.do_handshake()
                except ssl.SSLWantReadError:
                    client.sendall(outgoing.read())
                    incoming.write(client.recv(65536))
        except ssl.SSLError:
            client.sendall(outgoing.read())
        except OSError:
            pass


with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
