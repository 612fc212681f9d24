#!/usr/bin/env python3
"""Two small images as .npy files, of different sizes: a ring, and two spots. Needs nothing but Python itself.

  tests/browser/images.py RING.npy SPOTS.npy"""
import math
import struct
import sys


def write(path, height, width, value):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({height}, {width}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = [value(i, j) for i in range(height) for j in range(width)]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}d", *values))


def spot(i, j, row, column, width):
    return math.exp(-((i - row) ** 2 + (j - column) ** 2) / (2 * width**2))


write(sys.argv[1], 40, 40, lambda i, j: 1.0 if 9 < math.hypot(i - 19.5, j - 19.5) < 16 else 0.0)
write(sys.argv[2], 70, 60, lambda i, j: spot(i, j, 15, 18, 5) + 0.6 * spot(i, j, 52, 42, 7))
