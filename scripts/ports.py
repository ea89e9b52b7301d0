"""Free ports of loopback."""
import socket

RESERVED = []


def free_ports(count):
    """Free ports, kept for this program: no other program gets one of them as its port 0. A server can bind them with SO_REUSEADDR."""
    reserved = [socket.socket() for _ in range(count)]
    for each in reserved:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.bind(("127.0.0.1", 0))
    RESERVED.extend(reserved)
    return [each.getsockname()[1] for each in reserved]
