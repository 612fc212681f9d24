#!/usr/bin/env python3
"""Checks who includes whom: a room of src/ includes only rooms below it, so that no two include each other.

  scripts/rooms.py [folder of the project]

Prints one line for every include that goes up, and fails if there is one."""
import re
import sys
from pathlib import Path

# From the bottom up. Rooms of one line do not include each other.
LEVELS = [
    ["core"],
    ["options"],
    ["simd", "io", "comm", "synthetic", "report", "device"],
    ["privacy", "cost"],
    ["problem", "kernel", "watch"],
    ["backend/cpu", "backend/cuda"],
    ["topology"],
    ["method", "mechanism"],
    ["registry", "iteration"],
    ["solve"],
    ["costmodel", "risk"],
    ["cli"],
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room_of(path):
    parts = Path(path).parts[:-1]
    return "/".join(parts[:2]) if parts[:1] == ("backend",) else "/".join(parts[:1])


def main():
    source = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent) / "src"
    wrong = []
    for file in sorted(source.rglob("*")):
        if file.suffix not in (".hpp", ".cpp", ".cu", ".cuh"):
            continue
        mine = room_of(file.relative_to(source))
        if mine not in LEVEL:
            wrong.append(f"{file}: {mine or 'src'} is no room: name it in scripts/rooms.py")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or not (source / match[1]).exists():
                continue  # of the standard library, of another one, public or generated
            other = room_of(match[1])
            if other != mine and LEVEL.get(other, len(LEVELS)) >= LEVEL[mine]:
                wrong.append(f"{file}:{number}: {mine} must not include {other} ({match[1]})")
    print("\n".join(wrong) or f"{sum(map(len, LEVELS))} rooms, each includes only those below it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
