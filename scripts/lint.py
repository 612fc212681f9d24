#!/usr/bin/env python3
"""clang-tidy over our own sources, with the flags of a configured build.

    scripts/lint.py [--build build] [--folder src] [--jobs N] [--all] [file ...]

Without files, clang-tidy looks at those that have changed since the last tag and at those that include what has changed.
It looks at all of them if there is no tag, if the rules have changed, or if the build does not know who includes what.
.clang-tidy has the rules; files of that name in some folders take a few away.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = [".clang-tidy", "*/.clang-tidy", "scripts/lint.py", "cmake", "CMakeLists.txt", "CMakePresets.json"]
INCLUDED = re.compile(r'^#include "(.*)"$', re.M)


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


class Unit:
    """What the compiler gets at once: a source, or a file made by CMake that includes several. Their check is one, too,
    since most of the time goes into the headers that they share."""

    def __init__(self, path, depends_on=None):
        self.path = path
        self.depends_on = depends_on  # None: not known
        included = INCLUDED.findall(path.read_text()) if "Unity" in path.parts else []
        self.sources = [Path(name) for name in included] or [path]
        self.size = sum(source.stat().st_size for source in self.sources)

    def is_in(self, folder):
        return folder in self.sources[0].parents


def dependencies(build):
    """Of each object file of the build, the files that it was made from."""
    result, files = {}, None
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith("    ") and files is not None:
            files.add((build / line.strip()).resolve())
        elif "(VALID)" in line:
            files = result.setdefault((build / line.split(":")[0]).resolve(), set())
        else:
            files = None
    return result


def units_of(build):
    """What the build compiles (of CUDA clang-tidy knows too little), and two folders that it leaves to other builds:
    clang-tidy takes the flags of a file nearby."""
    known = dependencies(build)
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.suffix in (".cpp", ".cxx") and ROOT in path.parents and path.exists():
            made = build / re.search(r" -o (\S+)", entry["command"])[1]
            unit = Unit(path, known.get(made.resolve()))
            if ROOT in unit.sources[0].parents and build not in unit.sources[0].parents:
                units[path] = unit
    for folder in ("examples", "fuzz"):
        for path in sorted((ROOT / folder).glob("*.cpp")):
            units[path] = Unit(path)
    return list(units.values())


def changed_since_tag():
    """The files of ours that are not as they were at the last tag; None if that is unknown, or says nothing."""
    try:
        tag = output_of("git", "describe", "--tags", "--abbrev=0").strip()
        changed = output_of("git", "diff", "--name-only", tag).splitlines()
        rules = output_of("git", "diff", "--name-only", tag, "--", *RULES)
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None
    return None if rules else {ROOT / name for name in changed}


def has_changed(unit, changed):
    return unit.depends_on is None or not changed.isdisjoint(unit.depends_on) or not changed.isdisjoint(unit.sources)


def folder_rules(unit):
    """clang-tidy looks for .clang-tidy in the folder of the file it is given, which need not be that of the sources."""
    for folder in unit.sources[0].parents:
        if folder == ROOT:
            return ""
        if (folder / ".clang-tidy").exists():
            return "," + re.search(r"^Checks: '(.*)'", (folder / ".clang-tidy").read_text(), re.M)[1]


def findings(build, unit):
    # The flags are those of the compiler that builds, perhaps GCC: clang need not know all of its warnings. Warnings of the
    # build are left to the build. Sources that include sources are how several are checked together.
    run = subprocess.run(["clang-tidy", "--quiet", "-p", build, "--checks=-bugprone-suspicious-include" + folder_rules(unit),
                          "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error", unit.path],
                         cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode == 0:
        return ""
    return re.sub(r"^.*( warnings? .*generated\.|treated as errors?)$\n", "", run.stdout, flags=re.M) or run.stdout


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="a configured build folder")
    parser.add_argument("--folder", type=Path, default=ROOT, help="only sources in this folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="also what has not changed")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    build = arguments.build.resolve()
    if not (build / "compile_commands.json").exists():
        sys.exit(f"lint: {build}/compile_commands.json is missing; run 'cmake --preset release'")
    if arguments.files:
        units = [Unit(file.resolve()) for file in arguments.files]
    else:
        units = [unit for unit in units_of(build) if unit.is_in(arguments.folder.resolve())]
        changed = None if arguments.all else changed_since_tag()
        if changed is not None:
            units = [unit for unit in units if has_changed(unit, changed)]
    # The longest first, so that no core waits for a long one at the end.
    units.sort(key=lambda unit: -unit.size)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        found = [text for text in pool.map(lambda unit: findings(build, unit), units) if text]
    print("\n".join(found) or f"lint: {sum(len(unit.sources) for unit in units)} files, nothing found")
    sys.exit(1 if found else 0)


main()
