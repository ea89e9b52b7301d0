"""The fenced blocks of Markdown pages, and free ports for them."""
import re, socket


def fenced(page):
    """Each fenced block, as its language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def with_ports(page, ports):
    """The text with other ports. `ports` has the number to use in place of each."""
    for port, other in ports.items():
        page = re.sub(rf"(?<![\w.]){port}\b", str(other), page)
    return page
