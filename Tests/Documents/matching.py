"""Comparison of texts of the pages with what Ferry prints or sends."""
import re

# Values that differ from run to run. An id of a page stands for the same id everywhere on the page.
IDENTIFIER = r"[a-z]{3}_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
VARYING = {
    r"whsec_[\w+/]{4,}=*": None,
    r"v1,[\w+/]+=*": None,
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": None,
    r"127\.0\.0\.1:\d+": None,
    r"(?<=webhook-timestamp:)\d+": None,
    r'(?<="latency":)[\d.e-]+': None,
    r"\d+(?=rowsre-encrypted)": None,
    r"[a-z]{3}_[0-9a-f]+…": IDENTIFIER,
    "…": ".*?",
}
TOKEN = re.compile("|".join([f"(?P<identifier>{IDENTIFIER})", *VARYING]))


def squeezed(text):
    return re.sub(r"\s+", "", text)


def matched(expected, actual):
    """The actual ids by the ids of the page if the texts agree, and otherwise None. Blanks and line breaks do not count."""
    names, pattern, end = {}, "", 0
    expected = squeezed(expected)
    for token in TOKEN.finditer(expected):
        text = token.group()
        pattern += re.escape(expected[end:token.start()])
        end = token.end()
        if token["identifier"]:
            pattern += f"(?P={names[text]})" if text in names else f"(?P<id{len(names)}>{text[:4]}[0-9a-f-]{{36}})"
            names.setdefault(text, f"id{len(names)}")
        else:
            form = next(form for form in VARYING if re.compile(form).match(expected, token.start()))
            pattern += VARYING[form] or form
    match = re.fullmatch(pattern + re.escape(expected[end:]), squeezed(actual))
    return match and {text: match[name] for text, name in names.items()}
