#!/usr/bin/env python3
"""The tests that took longest, of what ctest wrote to a file of JUnit's.

    scripts/slowest.py build/tests.xml [count]
"""
import sys
import xml.etree.ElementTree as xml


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    cases = [(float(case.get("time")), case.get("name")) for case in xml.parse(sys.argv[1]).getroot().iter("testcase")]
    cases.sort(reverse=True)
    print(f"{len(cases)} tests, {sum(seconds for seconds, _ in cases):.0f} s one after the other; the longest, in seconds:")
    for seconds, name in cases[:count]:
        print(f"{seconds:8.1f}  {name}")


main()
