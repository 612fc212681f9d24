#!/usr/bin/env python3
"""Checks that no function of src/ is longer than 80 lines, its own braces not counted.

  scripts/function_length.py [folder of the project]

Prints one line for every function that is, and fails if there is one. Tables of numbers are not functions."""
import re
import sys
from pathlib import Path

LONGEST = 80
# What need not be looked into: comments, strings and characters. Line ends stay, so that lines can be counted.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b(?![^()]*\)\s*(?:const|noexcept|override|final)*\s*$)")


def functions(text):
    """(first line, lines inside, header) of every block that is not in another function."""
    text = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    text = re.sub(r"^\s*#.*?(?<!\\)$", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.M | re.S)
    stack, start = [], 0
    for at, char in enumerate(text):
        if char == "{":
            header = text[start:at].strip()
            in_function = bool(stack) and stack[-1][0] != "scope"
            kind = "inner" if in_function else "scope" if SCOPE.search(header) and not header.endswith(")") \
                else "other" if header.endswith("=") or not header else "function"
            stack.append((kind, text.count("\n", 0, at), header))
        elif char == "}" and stack:
            kind, line, header = stack.pop()
            if kind == "function":
                yield line + 1, text.count("\n", 0, at) - line - 1, " ".join(header.split())
        if char in "{};":
            start = at + 1


def main():
    project = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    wrong, seen = [], 0
    for file in sorted((project / "src").rglob("*")):
        if file.suffix not in (".hpp", ".cpp", ".cu", ".cuh"):
            continue
        for line, length, header in functions(file.read_text()):
            seen += 1
            if length > LONGEST:
                wrong.append(f"{file}:{line}: {length} lines, at most {LONGEST}: {header[:80]}")
    print("\n".join(wrong) or f"{seen} functions, none longer than {LONGEST} lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
