"""Single instructions, one in each file, from the patterns of `singles.txt`: a kernel reads its operands and writes its result."""

import itertools
import pathlib
import random
import re

from place import Place

# Of the forms of one pattern.
MOST = 6
# An optional choice, an optional part, a choice.
CHOICE = re.compile(r"\[\.\{([^}]*)\}\]|\[\.([^\]{}]*)\]|\{([^}]*\|[^}]*)\}")


def forms(pattern):
    """All the texts of a pattern."""
    parts, choices, end = [], [], 0
    for found in CHOICE.finditer(pattern):
        optional = found[1] if found[1] is not None else found[2]
        values = [f".{value}" for value in optional.split("|")] + [""] if optional is not None else found[3].split("|")
        parts.append(pattern[end : found.start()])
        choices.append(values)
        end = found.end()
    for chosen in itertools.product(*choices):
        yield "".join(itertools.chain.from_iterable(zip(parts, chosen))) + pattern[end:]


def kernel(instruction, version, target):
    """A module around an instruction."""
    wide = float(version) >= 8.3 and int(re.sub(r"\D", "", target)) >= 70
    sizes = {"h": (16, 2, "u16"), "r": (32, 4, "u32"), "l": (64, 8, "u64"), **({"q": (128, 16, "b128")} if wide else {})}
    lines = [f".version {version}", f".target {target}", ".address_size 64"]
    lines += [".global .align 16 .b8 g[256];", ".shared .align 16 .b8 s[256];", ".const .align 16 .b8 c[64];"]
    lines += [".global .texref t;", ".global .surfref u;"]
    lines += [".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])", "{", "\t.reg .pred %p<8>;"]
    lines += [f"\t.reg .b{bits} %{letter}<9>;" for letter, (bits, _, _) in sizes.items()]
    lines += ["\tld.param.u64 %l8, [in];", "\tmov.u32 %r8, s;"]
    for letter, (_, size, kind) in sizes.items():
        lines += [f"\tld.global.{kind} %{letter}{number}, [%l8+{number * size}];" for number in range(8)]
    lines += [f"\tsetp.gt.s32 %p{number}, %r{number}, 0;" for number in range(8)]
    lines += [f"\t{instruction};", "\tld.param.u64 %l8, [out];"]
    lines += [f"\tst.global.{kind} [%l8+{size * 2}], %{letter}0;" for letter, (_, size, kind) in sizes.items()]
    lines += ["\tselp.u32 %r0, 1, 0, %p0;", "\tst.global.u32 [%l8], %r0;", "END:", "\tret;", "}"]
    return "\n".join(lines) + "\n"


def main():
    place = Place("singles")
    version = target = None
    for line in pathlib.Path(__file__).with_name("singles.txt").read_text().splitlines():
        if line.startswith("["):
            version, target = line.strip("[]").split()
        elif line and not line.startswith("#"):
            every = list(forms(line))
            for number, text in enumerate(sorted(random.Random(line).sample(every, min(MOST, len(every))))):
                name, _, operands = text.partition("  ")
                place.add(f"{name}_{version}_{operands}"[:120], kernel(f"{name} {operands}".strip(), version, target))
    place.end()


main()
