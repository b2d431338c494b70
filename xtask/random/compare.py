"""`compare.py KERNELS ONE OTHER`: compares the results of two drivers for the kernels in a folder, and prints the variables that differ.

Floats that are both NaN, of different bits, are told apart from other differences: which of several NaNs an operation passes on is the driver's
choice. Of the threads whose words are not kept only the hash is compared, in which such a NaN shows like any other difference.
"""

import pathlib
import re
import struct
import sys

COLUMNS, KEPT = 48, 32
SIZE = 8 * COLUMNS * (1 + KEPT)
# Bits of the exponent and of the fraction.
FLOATS = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}


def is_nan(word, kind):
    exponent, fraction = FLOATS[kind]
    infinite = (1 << exponent) - 1 << fraction
    return word & infinite == infinite and word & (1 << fraction) - 1 != 0


def variable(source, kernel, column):
    """The variable in a column, and its type; none for what `kernels.py` declares in another way than `TYPE NAME = `."""
    body = source[source.index(f"void k{kernel}("):]
    name = re.search(rf"\* {COLUMNS} \+ {column}\] = bits\((.*)\);", body).group(1)
    kind = re.search(rf"\b(\w+) {re.escape(name)} = ", body) if "." not in name else None
    return name, kind and kind.group(1)


def main(folder, one, other):
    kernels = nans = 0
    wrong = []
    names = {path.name for results in (one, other) for path in results.glob("*.bin")}
    for name in sorted(names, key=lambda name: int(name.removesuffix(".bin"))):
        first, second = (path.read_bytes() if (path := results / name).exists() else b"" for results in (one, other))
        number = name.removesuffix(".bin")
        if len(first) != len(second):
            wrong.append(f"{number}: {len(first) // SIZE} kernels ran, and {len(second) // SIZE}")
        source = (folder / f"{number}.cu").read_text()
        for kernel in range(min(len(first), len(second)) // SIZE):
            kernels += 1
            a, b = (struct.unpack_from(f"<{COLUMNS * (1 + KEPT)}Q", data, kernel * SIZE) for data in (first, second))
            other_nan = False
            for column in (column for column in range(COLUMNS) if a[column] != b[column]):
                written, kind = variable(source, kernel, column)
                pairs = [(thread, a[at], b[at]) for thread in range(KEPT) if a[at := COLUMNS * (1 + thread) + column] != b[at]]
                real = [pair for pair in pairs if kind not in FLOATS or not all(is_nan(word, kind) for word in pair[1:])]
                if pairs and not real:
                    other_nan = True
                    continue
                where = "thread {}: {:x} and {:x}".format(*real[0]) if real else f"a thread after the first {KEPT}"
                wrong.append(f"{number} k{kernel} {kind or ''} {written}: {where}")
            nans += other_nan
    print("\n".join(wrong + [f"{kernels} kernels; {len(wrong)} differences; {nans} kernels with another NaN"]))
    return bool(wrong) or kernels == 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:4])))
