#!/usr/bin/env python3
"""Repeats the tests under load and lists those that failed, be it once.

    scripts/flaky.py [--build build] [--repetitions 20] [--jobs N] [--only REGEX] [--fresh]

Tests run in random order, three at once on every core by default, while one more process keeps a core busy. Every
finished repetition is kept in BUILD/flaky: stopped by Ctrl-C, the next call goes on where this one was, unless the
sources or the selection have changed. Exit status: 0 no test failed, 1 some did, 130 stopped.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="a folder with the tests, built")
    parser.add_argument("--repetitions", type=int, default=20, help="of all tests, those of earlier calls included")
    parser.add_argument("--jobs", type=int, default=3 * os.cpu_count(), help="tests at once")
    parser.add_argument("--only", default="", help="tests whose names match (a regular expression of ctest)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier repetitions")
    return parser.parse_args()


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout


def what_is_tested(arguments):
    """Repetitions of other sources, or of other tests, do not count."""
    sources = hashlib.sha256(git("diff", "HEAD")).hexdigest()
    return {"commit": git("rev-parse", "HEAD").decode().strip(), "changes": sources, "only": arguments.only}


def folder_of_repetitions(arguments):
    folder = arguments.build / "flaky"
    folder.mkdir(parents=True, exist_ok=True)
    about = folder / "about.json"
    tested = what_is_tested(arguments)
    if arguments.fresh or not about.exists() or json.loads(about.read_text()) != tested:
        for old in folder.glob("repetition-*"):
            old.unlink()
        about.write_text(json.dumps(tested, indent=2) + "\n")
    return folder


def outcomes(record):
    """Failed and passed tests of one repetition."""
    failed, passed = [], []
    for case in xml.parse(record).getroot().iter("testcase"):
        if case.get("status") == "fail":
            failed.append(case)
        elif case.get("status") == "run":
            passed.append(case)
    return failed, passed


def repeat(arguments, record):
    """One repetition; its record is there if it came to its end."""
    part = record.with_suffix(".part")
    command = ["ctest", "--test-dir", arguments.build, "--schedule-random", "-j", str(arguments.jobs),
               "--output-junit", part.resolve(), "--test-output-size-failed", "20000"]
    if arguments.only:
        command += ["-R", arguments.only]
    with open(record.with_suffix(".log"), "w", encoding="utf-8") as log:
        status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    if not part.exists():
        sys.exit(f"flaky: ctest ended with status {status}; see {record.with_suffix('.log')}")
    part.rename(record)


def tell(number, record, seconds):
    failed, passed = outcomes(record)
    names = ", ".join(case.get("name") for case in failed)
    print(f"repetition {number}: {len(passed)} passed, {len(failed)} failed, {seconds:.0f} s" +
          (f": {names}" if failed else ""), flush=True)


def summarize(records):
    """Every test that failed: how often, and the end of what it said last. Returns whether there is one."""
    counts = collections.Counter()
    last = {}
    tests = set()
    for record in records:
        failed, passed = outcomes(record)
        tests.update(case.get("name") for case in failed + passed)
        for case in failed:
            counts[case.get("name")] += 1
            last[case.get("name")] = (record.name, case.findtext("system-out") or "")
    for name, count in counts.most_common():
        record, said = last[name]
        print(f"\n{name}: failed {count} of {len(records)} times, last in {record}")
        print("\n".join("    " + line for line in re.sub(r"\n+", "\n", said).strip().split("\n")[-15:]))
    print(f"\nflaky: {len(records)} repetitions of {len(tests)} tests, {len(counts)} of which failed at least once")
    return bool(counts)


def main():
    arguments = read_arguments()
    if not (arguments.build / "CTestTestfile.cmake").exists():
        sys.exit(f"flaky: {arguments.build} has no tests; run 'make build' first")
    folder = folder_of_repetitions(arguments)
    # Shells start what they put into the background with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # It ends with this process, whatever ends that.
    neighbour = subprocess.Popen([sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"])
    records = [folder / f"repetition-{number:03d}.xml" for number in range(1, arguments.repetitions + 1)]
    try:
        for number, record in enumerate(records, 1):
            if record.exists():
                continue
            started = time.monotonic()
            repeat(arguments, record)
            tell(number, record, time.monotonic() - started)
    except KeyboardInterrupt:
        done = [record for record in records if record.exists()]
        if done:
            summarize(done)
        print("flaky: stopped; the same call goes on from here")
        sys.exit(130)
    finally:
        neighbour.kill()
    sys.exit(1 if summarize(records) else 0)


main()
