"""`compare.py KERNELS ONE OTHER`: compares the results of two drivers for the kernels in a folder, and prints the variables that differ.

Two NaNs of different bits are told apart from other differences: which of several NaNs an operation passes on is the driver's choice.
"""

import pathlib
import re
import struct
import sys

COLUMNS, KEPT = 48, 32
SIZE = 8 * COLUMNS * (1 + KEPT)


def is_nan(word):
    double = word >> 52 & 2047 == 2047 and word & (1 << 52) - 1
    single = word >> 32 == 0 and word >> 23 & 255 == 255 and word & (1 << 23) - 1
    return bool(double or single)


def variable(source, kernel, column):
    body = source[source.index(f"void k{kernel}("):]
    return re.search(rf"\* {COLUMNS} \+ {column}\] = bits\((.*)\);", body).group(1)


def main(folder, one, other):
    kernels = nans = 0
    wrong = []
    for path in sorted(one.glob("*.bin"), key=lambda path: int(path.stem)):
        first, second = path.read_bytes(), (other / path.name).read_bytes()
        if len(first) != len(second):
            wrong.append(f"{path.stem}: {len(first) // SIZE} kernels ran, and {len(second) // SIZE}")
        source = (folder / f"{path.stem}.cu").read_text()
        for kernel in range(min(len(first), len(second)) // SIZE):
            kernels += 1
            a, b = (struct.unpack_from(f"<{COLUMNS * (1 + KEPT)}Q", data, kernel * SIZE) for data in (first, second))
            other_nan = False
            for column in range(COLUMNS):
                if a[column] == b[column]:
                    continue
                words = [(thread, a[i], b[i]) for thread in range(KEPT) if a[i := COLUMNS * (1 + thread) + column] != b[i]]
                if words and all(is_nan(x) and is_nan(y) for _, x, y in words):
                    other_nan = True
                    continue
                where = "thread {}: {:x} and {:x}".format(*words[0]) if words else f"a thread after the first {KEPT}"
                wrong.append(f"{path.stem} k{kernel} {variable(source, kernel, column)}: {where}")
            nans += other_nan
    print("\n".join(wrong + [f"{kernels} kernels; {len(wrong)} differences; {nans} kernels with another NaN"]))
    return bool(wrong) or kernels == 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:4])))
