#!/usr/bin/env python3
"""Compares `ferry get` with aria2c and wget2 at a list of small files from one nginx, and kills `ferry get` and its service in the middle.
usage: get.py [files] [rounds] [--disk]    1,000 files and 3 rounds by default

The CPU time of `ferry get` includes the service that it starts. The memory is the sum of all processes of a program. A file that was finished
before the kill must not be requested again by the next run of the same command."""
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from works import *

AT_ONCE_HERE = 16
FERRY_GET = [FERRY, "get", "--quiet", "--allow-network", "127.0.0.0/8", "-j", str(AT_ONCE_HERE)]
PROGRAMS = {
    "ferry get": [*FERRY_GET, "-i"],
    "aria2c": ["aria2c", "--quiet", "--no-conf", f"-j{AT_ONCE_HERE}", "-i"],
    "wget2": ["wget2", "--quiet", "--no-config", f"--max-threads={AT_ONCE_HERE}", "-i"],
}
# The files of the run that is killed, and the number of finished files at that time.
KILLED, FINISHED = 200, 60
LIMIT = 300


def run(command, directory, state):
    """Returns wall seconds, CPU seconds and the peak memory in MiB of a command, with its children."""
    os.makedirs(directory)
    start, before, peak = time.monotonic(), os.times(), 0
    process = subprocess.Popen(command, cwd=directory, env=environment(state))
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    assert process.returncode == 0, (command, process.returncode)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - start, cpu, peak / 1024


def environment(state):
    return {**os.environ, "XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state}


def files_in(directory):
    return [name for name in os.listdir(directory) if not name.startswith(".")]


def check(directory, count, size):
    names = files_in(directory)
    assert len(names) == count, f"{len(names)} of {count} files in {directory}"
    for name in names:
        assert os.path.getsize(f"{directory}/{name}") == size, name


def write_list(path, origin, folder, count):
    with open(path, "w") as f:
        f.writelines(f"{origin.url}/{folder}/{number:06}.bin\n" for number in range(count))


def requested(log):
    """Returns the paths of the requests so far."""
    with open(log) as f:
        return [line.split('"')[1].split()[1] for line in f]


def kill_in_the_middle(scratch, origin):
    """Kills the command and its service, runs the command again, and returns the numbers of files that were finished before and of
    later requests."""
    directory, state, urls, log = f"{scratch}/killed", f"{scratch}/killed-state", f"{scratch}/killed.txt", f"{scratch}/origin/access.log"
    os.makedirs(directory)
    write_list(urls, origin, "logged", KILLED)
    process = subprocess.Popen([*FERRY_GET, "-i", urls], cwd=directory, env=environment(state))
    deadline = time.monotonic() + LIMIT
    while len(files_in(directory)) < FINISHED:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    for pid in family(process.pid, processes()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    finished, before = set(files_in(directory)), len(requested(log))
    subprocess.run([*FERRY_GET, "-i", urls], cwd=directory, env=environment(state), check=True, timeout=LIMIT)
    check(directory, KILLED, 102400)
    later = [os.path.basename(path) for path in requested(log)[before:]]
    again = sorted(finished.intersection(later))
    assert not again, f"finished files were requested again: {again}"
    assert not [name for name in os.listdir(directory) if name.startswith(".")], "temporary files remain"
    return len(finished), len(later)


def main():
    numbers = [int(a) for a in sys.argv[1:] if not a.startswith("--")]
    count, rounds = (numbers + [1000, 3][len(numbers):])[:2]
    programs = {name: command for name, command in PROGRAMS.items() if shutil.which(command[0])}
    for name in PROGRAMS.keys() - programs.keys():
        print(f"{name} is not installed", file=sys.stderr)
    found = {name: [] for name in programs}
    with scratch("--disk" in sys.argv) as directory:
        origin = Origin(f"{directory}/origin")
        try:
            write_list(f"{directory}/list.txt", origin, "f", count)
            for number in range(rounds):
                # Each program goes first as often as last.
                for name in list(programs) if number % 2 == 0 else reversed(programs):
                    place = f"{directory}/{number}-{name.replace(' ', '-')}"
                    found[name].append(run([*programs[name], f"{directory}/list.txt"], place, f"{place}-state"))
                    check(place, count, 1024)
                    shutil.rmtree(place)
            finished, later = kill_in_the_middle(directory, origin)
        finally:
            origin.stop()
    print(f"medians of {rounds} rounds: {count} files of 1 KiB, {AT_ONCE_HERE} at once, on {'disk' if '--disk' in sys.argv else 'tmpfs'}")
    table([("program", "files/s", "CPU s", "peak MiB")] + [
        (name, f"{count / wall:,.0f}", f"{cpu:.2f}", f"{peak:.0f}")
        for name, values in found.items() for wall, cpu, peak in [map(statistics.median, zip(*values))]])
    print(f"killed with {finished} of {KILLED} files finished; the same command requested {later} files and finished")


if __name__ == "__main__":
    main()
