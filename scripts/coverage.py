#!/usr/bin/env python3
"""Which share of the lines and branches of src/ the tests run, room by room.

    scripts/coverage.py [build-coverage]

After 'make coverage' has run the tests there: merges their counters and prints a table.
"""
import argparse
import collections
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("lines", "branches")


def programs_of(build):
    return [path for path in sorted(build.iterdir())
            if path.is_file() and os.access(path, os.X_OK) and path.suffix in ("", ".so")]


def counts_by_room(build):
    """Of each room, how many lines and branches there are, and how many of them ran."""
    profile = build / "coverage.profdata"
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-o", profile, *(build / "profiles").glob("*.profraw")],
                   check=True)
    programs = programs_of(build)
    objects = [word for program in programs[1:] for word in ("-object", program)]
    report = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", programs[0], *objects],
                            check=True, stdout=subprocess.PIPE).stdout
    rooms = collections.defaultdict(lambda: collections.Counter())
    for file in json.loads(report)["data"][0]["files"]:
        path = Path(file["filename"])
        for source in (ROOT / "src", ROOT / "include"):
            if source not in path.parents:
                continue
            room = "/".join(path.parent.relative_to(ROOT).parts)
            for kind in KINDS:
                for what in ("count", "covered"):
                    rooms[room][kind, what] += file["summary"][kind][what]
    return rooms


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", type=Path, nargs="?", default=ROOT / "build-coverage")
    arguments = parser.parse_args()
    rooms = counts_by_room(arguments.build.resolve())
    total = collections.Counter()
    for counts in rooms.values():
        total.update(counts)
    print(f"{'':24}{'lines':>10}{'run':>9}{'branches':>12}{'run':>9}")
    for name, counts in [*sorted(rooms.items()), ("all", total)]:
        row = f"{name:24}"
        for kind, width in zip(KINDS, (10, 12)):
            share = counts[kind, "covered"] / max(1, counts[kind, "count"])
            row += f"{counts[kind, 'count']:{width}}{share:9.2%}"
        print(row)


main()
