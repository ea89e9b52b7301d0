"""The works at which parties are measured. Each gets a peer and returns figures by unit, with `noise`: the share of the time that
other processes on the machine took."""
from streams import *

BATCH, AT_ONCE, ASKED, SLOW, STREAMS = 5000, 64, 200, 1000, 10_000
SETTLES = 5
BEATS, EVERY, LOOK_EVERY = 50, 0.1, 0.005
KIB, GIB = 1 << 10, 1 << 30


def rates(meter, count):
    return {"jobs/s": count / meter.wall, "CPU ms": meter.cpu / count * 1000, "peak MiB": meter.peak, "noise": meter.noise,
            **{f"µs in {name}": seconds / count * 1e6 for name, seconds in meter.threads.items()}}


def timed(peer, run, count, size):
    with peer.meter() as meter:
        run()
    peer.check(count, size)
    return meter


def batch(peer):
    return rates(timed(peer, peer.batch(f"{peer.origin.url}/f/", BATCH), BATCH, KIB), BATCH)


def single(peer):
    return rates(timed(peer, peer.single(f"{peer.origin.url}/f/", BATCH), BATCH, KIB), BATCH)


def take_memory(directory):
    """Uses the memory that the test needs, because the host gives memory to a virtual machine only at its first use."""
    place, block = f"{directory}/memory", bytes(1 << 20)
    with open(place, "wb") as f:
        for _ in range(1200):
            f.write(block)
    os.unlink(place)


def gigabyte(peer):
    take_memory(peer.directory)
    meter = timed(peer, peer.batch(f"{peer.origin.url}/1g?", 1), 1, GIB)
    return {"MB/s": GIB / 1e6 / meter.wall, "CPU s": meter.cpu, "peak MiB": meter.peak, "noise": meter.noise}


def asked(peer, run):
    with peer.meter() as meter:
        taken = run()
    peer.check(ASKED, KIB)
    return {"p50 ms": percentile(taken, 0.5), "p99 ms": percentile(taken, 0.99), "CPU ms": meter.cpu / ASKED * 1000,
            "noise": meter.noise}


def latency(peer):
    return asked(peer, peer.latency(f"{peer.origin.url}/f/", ASKED))


def wait(peer):
    return asked(peer, peer.wait(f"{peer.origin.url}/f/", ASKED))


def slow(peer):
    prefix = f"{peer.origin.url}/slow/"
    before = peer.unladen(prefix, SLOW)
    with peer.meter() as meter:
        peer.hold(prefix, SLOW)
        time.sleep(SETTLES)
        each = (peer.resident() - before) / SLOW
    return {"KiB each": each, "CPU s": meter.cpu, "noise": 0}


def database(peer):
    peer.batch(f"{peer.origin.url}/f/", BATCH)()
    return {"bytes each": peer.database() / BATCH, "noise": 0}


def streams(peer, count=STREAMS):
    """Measures idle streams: the memory of each, and the delay of other requests while ten events a second go to all streams."""
    path = peer.channel()
    # The first stream also has the cost that all of them share.
    first = Streams(peer.port, path, 1)
    before = peer.resident()
    count = min(count, most_streams())
    opened = Streams(peer.port, path, count)
    each = (peer.resident() - before) / count
    first.close()
    looks, ended = [], opened.read(count * BEATS)
    with peer.meter() as meter:
        start = time.monotonic()
        for beat in range(1, BEATS + 1):
            # The requests are timed while the event is on its way to all streams.
            peer.tell()
            while (now := time.monotonic()) < start + beat * EVERY:
                peer.look()
                looks.append((time.monotonic() - now) * 1000)
                time.sleep(LOOK_EVERY)
            peer.told()
        came = ended()
    opened.close()
    assert came == count * BEATS, (peer.name, came, count * BEATS)
    return {"streams": count, "KiB each": each, "p50 ms": percentile(looks, 0.5), "p99 ms": percentile(looks, 0.99),
            "share of a core": meter.cpu / meter.wall, "noise": meter.noise}
