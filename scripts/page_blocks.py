"""The fenced blocks of Markdown pages, and free ports for them."""
import re, socket

RESERVED = []


def fenced(page):
    """Each fenced block, as its language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def free_ports(count):
    """Free ports, kept for this program: no other program gets one of them as its port 0. A server can bind them with SO_REUSEADDR."""
    reserved = [socket.socket() for _ in range(count)]
    for each in reserved:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.bind(("127.0.0.1", 0))
    RESERVED.extend(reserved)
    return [each.getsockname()[1] for each in reserved]


def with_ports(page, ports):
    """The text with other ports. `ports` has the number to use in place of each."""
    for port, other in ports.items():
        page = re.sub(rf"(?<![\w.]){port}\b", str(other), page)
    return page
