#!/usr/bin/env python3
"""Makes the tables of the document dictionary (RFC 8878 §5) from the documents that Ferry stores during varied work. The tables
have the frequency of each byte and each length. Prints them in base64, and the size of documents without and with them.
usage: dictionary.py"""
import base64, ctypes, os, struct, sys, textwrap
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *

ZSTD = ctypes.CDLL("libzstd.so.1")
MAGIC = bytes.fromhex("37a430ec")
# One of this number of documents is a sample. The others are measured.
EVERY = 3
# The level in ZstandardDictionary.
LEVEL = 3


class Parameters(ctypes.Structure):
    """The C structure ZDICT_params_t."""
    _fields_ = [("level", ctypes.c_int), ("notifications", ctypes.c_uint), ("identifier", ctypes.c_uint)]


def call(name, *arguments):
    function = getattr(ZSTD, name)
    function.restype = ctypes.c_size_t
    result = function(*arguments)
    assert not ZSTD.ZDICT_isError(ctypes.c_size_t(result)), name
    return result


def is_of_background(task):
    """Returns whether a task fits a background session, where uploads need stored files and unreachable hosts are retried."""
    return task["kind"] == "download" and ":1/" not in task["request"]["url"]


def work(ferry, origin):
    """Runs tasks of all kinds, successful and failed, in sessions of all types."""
    def task(path="/f/1", kind="download", **request):
        return {"kind": kind, "resume": True, "request": {"url": path if ":" in path else origin.url + path, **request}}
    text = base64.b64encode(b"x" * 300).decode()
    fields = {"Authorization": "Bearer abc", "Accept": "application/json", "X-Request-Id": "4a7d1ed4-14d8"}
    tasks = [task(f"/f/{i}") for i in range(60)] + [task(f"/kept/1k?{i}", "data", headers=fields) for i in range(60)]
    tasks += [task(f"/put/{i}", "upload", method="PUT", body={"base64": text}) for i in range(30)]
    tasks += [task("/moved"), task("/none"), task("http://127.0.0.1:1/"), task("http://10.0.0.1/"), task("/100k", "data")] * 10
    for configuration in ({"type": "default"}, {"type": "background", "identifier": "dictionary"}, {"type": "ephemeral"}):
        status, session = ferry.call("POST", "/v1/sessions", {**configuration, "delegate": {}})
        assert status == 201, session
        for one in filter(is_of_background if configuration["type"] == "background" else None, tasks):
            status, reply = ferry.call("POST", f"/v1/sessions/{session['id']}/tasks", one)
            assert status == 201, reply
        ferry.wait_until_none_runs(session["id"])


def recorded(directory):
    library, path = preloaded("documents", directory), f"{directory}/documents"
    origin = Origin(f"{directory}/origin")
    ferry = Ferry(f"{directory}/ferry", under=("env", f"LD_PRELOAD={library}", f"DOCUMENTS={path}"))
    try:
        work(ferry, origin)
    finally:
        ferry.stop()
        origin.stop()
    with open(path, "rb") as file:
        text, documents = file.read(), []
    with open(path + ".dictionary", "rb") as file:
        dictionary = file.read()
    while text:
        end = 4 + struct.unpack_from("<I", text)[0]
        documents.append(text[4:end])
        text = text[end:]
    if dictionary.startswith(MAGIC):
        dictionary = dictionary[call("ZDICT_getDictHeaderSize", dictionary, ctypes.c_size_t(len(dictionary))):]
    return dictionary, documents


def finalized(content, samples):
    room = ctypes.create_string_buffer(len(content) + 4096)
    sizes = (ctypes.c_size_t * len(samples))(*map(len, samples))
    size = call("ZDICT_finalizeDictionary", room, ctypes.c_size_t(len(room)), content, ctypes.c_size_t(len(content)), b"".join(samples),
                sizes, ctypes.c_uint(len(samples)), Parameters(LEVEL, 0, 1))
    return room.raw[:size]


def size(dictionary, documents):
    ZSTD.ZSTD_createCDict.restype = ZSTD.ZSTD_createCCtx.restype = ctypes.c_void_p
    digested = ctypes.c_void_p(ZSTD.ZSTD_createCDict(dictionary, ctypes.c_size_t(len(dictionary)), LEVEL))
    context, room = ctypes.c_void_p(ZSTD.ZSTD_createCCtx()), ctypes.create_string_buffer(1 << 20)
    return sum(call("ZSTD_compress_usingCDict", context, room, ctypes.c_size_t(len(room)), document, ctypes.c_size_t(len(document)),
                    digested) for document in documents)


def main():
    with scratch() as directory:
        content, documents = recorded(directory)
    samples, others = documents[::EVERY], [d for i, d in enumerate(documents) if i % EVERY]
    whole = finalized(content, samples)
    assert whole.endswith(content)
    before, after = size(content, others), size(whole, others)
    print("\n".join(textwrap.wrap(base64.b64encode(whole[:-len(content)]).decode(), 100)))
    print(f"{len(others)} documents of {sum(map(len, others))} bytes: {before} without, {after} with them", file=sys.stderr)


if __name__ == "__main__":
    main()
