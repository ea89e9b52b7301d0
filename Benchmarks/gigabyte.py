#!/usr/bin/env python3
"""One download of 1 GiB: Ferry (hashed, fdatasynced, renamed, committed) beside curl in the same run.
usage: gigabyte.py [rounds] [--disk]"""
from harness import *


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 5
    on_disk = "--disk" in sys.argv
    rates = {"curl": [], "ferry": []}
    cpu, peaks = [], []
    with scratch(on_disk) as directory:
        origin = Origin(directory, gigabyte=True)
        ferry = Ferry(f"{directory}/ferry")
        session = ferry.session()
        for _ in range(rounds):
            start = time.monotonic()
            subprocess.check_call(["curl", "-sS", "-o", f"{directory}/copy", f"{origin.url}/1g"])
            if on_disk:
                subprocess.check_call(["sync", f"{directory}/copy"])
            rates["curl"].append(1073.741824 / (time.monotonic() - start))
            os.unlink(f"{directory}/copy")
            with Meter(ferry.pid) as meter:
                start = time.monotonic()
                status, task = ferry.call(
                    "POST", f"/v1/sessions/{session}/tasks",
                    {"kind": "download", "resume": True, "request": {"url": f"{origin.url}/1g"}},
                    {"Prefer": "wait=120"})
                rates["ferry"].append(1073.741824 / (time.monotonic() - start))
            assert status == 200 and task["body"]["size"] == 1 << 30, task
            cpu.append(meter.cpu)
            peaks.append(meter.peak)
            assert ferry.call("DELETE", f"/v1/tasks/{task['id']}/body")[0] == 204
        ferry.stop()
        origin.stop()
    medians = {name: statistics.median(values) for name, values in rates.items()}
    print(f"1 GiB, medians of {rounds} rounds, on {'disk (both synced)' if on_disk else 'tmpfs'}")
    table([("", "MB/s"), *[(name, f"{value:.0f}") for name, value in medians.items()]])
    print(f"ratio ferry/curl: {medians['ferry'] / medians['curl']:.2f}; ferry: {statistics.median(cpu):.2f} CPU-s, "
          f"peak RSS {max(peaks):.0f} MiB")


if __name__ == "__main__":
    main()
