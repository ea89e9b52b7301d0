#!/usr/bin/env python3
"""A TLS server that requires a client certificate of the authority, and otherwise closes the connection at once.

usage: refusing_tls_origin.py PORT DIRECTORY VERSION MANNER

VERSION is a name of ssl.TLSVersion. MANNER is withAlert (sends an alert), silently (closes the connection), withReset (resets the
connection), or closesAfterRequest (accepts every client, reads the request and closes the connection).
"""
import socket
import ssl
import struct
import sys
import threading

port, directory, version, manner = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{directory}/leaf.pem", f"{directory}/key.pem")
context.load_verify_locations(f"{directory}/authority.pem")
context.verify_mode = ssl.CERT_OPTIONAL if manner == "closesAfterRequest" else ssl.CERT_REQUIRED
context.minimum_version = context.maximum_version = ssl.TLSVersion[version]


def serve(client):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)

    def exchange(step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                client.sendall(outgoing.read())
                piece = client.recv(65536)
                if not piece:
                    raise OSError
                incoming.write(piece)

    with client:
        try:
            exchange(tls.do_handshake)
            client.sendall(outgoing.read())
            exchange(lambda: tls.read(65536))
        except ssl.SSLError:
            if manner == "withReset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif manner == "withAlert":
                client.sendall(outgoing.read())
        except OSError:
            pass


with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
