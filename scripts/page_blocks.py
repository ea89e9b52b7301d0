"""The fenced blocks of Markdown pages, and other ports in them."""
import re


def fenced(page):
    """Each fenced block, as its language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def with_ports(page, ports):
    """The text with other ports. `ports` has the number to use in place of each."""
    for port, other in ports.items():
        page = re.sub(rf"(?<![\w.]){port}\b", str(other), page)
    return page
