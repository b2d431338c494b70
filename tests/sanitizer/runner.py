#!/usr/bin/env python3
"""Launches one case of cases.txt, or several, through the driver API: libcuda.so.1 and nothing else.

    runner.py [--wrong | --right] NAME...     --wrong: with the fault (default); --right: without
    runner.py --right ALL:2/8                 the third eighth of all correct kernels

Prints a line of JSON for each case: what the calls returned that failed. The same file runs on a GPU's driver and on the emulator's.
"""

import ctypes
import json
import os
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("SANITIZER_ROOT", HERE.parents[1]))
CLUSTER, COOPERATIVE = 4, 2  # CUlaunchAttributeID


class Case:
    """A kernel, how its memory is made, how it is launched, and what the emulator finds."""

    def __init__(self, module, name, finds, words):
        self.module, self.name, self.finds, self.words, self.steps = module, name, finds, words, []

    def is_pair(self):
        return self.finds is not None


def read_cases(path=HERE / "cases.txt"):
    """The cases of a file, whose head says how it is written."""
    cases, module = [], None
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        first, _, rest = line.strip().partition(" ")
        if line.startswith("  "):
            cases[-1].steps.append(line.strip())
        elif first == "module":
            module = rest
        elif first == "case":
            name, finds, words = rest.split(" ", 2)
            cases.append(Case(module, name, finds, words))
        elif first == "correct":
            name, _, words = rest.partition(" ")
            cases.append(Case(module, name, None, words))
        else:
            raise ValueError(line)
    return cases


class Failed(Exception):
    pass


class Driver:
    """The driver's functions, by name; a code other than 0 ends a case."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            code = function(*arguments)
            if code != 0:
                text = ctypes.c_char_p()
                self.library.cuGetErrorName(code, ctypes.byref(text))
                raise Failed(f"{name}: {(text.value or b'?').decode()} ({code})")

        return call


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    ]


class Array3d(ctypes.Structure):
    _fields_ = [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t)]
    _fields_ += [("format", ctypes.c_int), ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


UNSIGNED_INT32 = 3


class Run:
    """One case in a context of its own."""

    def __init__(self, driver, case, wrong):
        self.driver, self.case, self.wrong = driver, case, wrong
        self.names, self.release, self.streams = {}, {}, {}

    def all(self):
        context = ctypes.c_void_p()
        self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.driver.cuCtxSetCurrent(context)
        self.module = ctypes.c_void_p()
        image = (ROOT / f"{self.case.module}.ptx").read_bytes() + b"\0"
        self.driver.cuModuleLoadData(ctypes.byref(self.module), image)
        for step in self.case.steps:
            side, _, rest = step.partition(": ")
            if side in ("wrong", "right"):
                if (side == "wrong") != self.wrong:
                    continue
                step = rest
            self.step(step)
        self.driver.cuCtxSynchronize()
        for give_back in self.release.values():
            give_back()
        for stream in self.streams.values():
            self.driver.cuStreamDestroy_v2(stream)
        self.driver.cuModuleUnload(self.module)
        self.driver.cuDevicePrimaryCtxRelease_v2(0)

    def step(self, step):
        words = step.split()
        if len(words) > 2 and words[1] == "=":
            self.names[words[0]] = self.make(words[0], *words[2:])
        else:
            getattr(self, words[0])(*words[1:])

    def make(self, name, kind, *words):
        """A piece of memory, or what else an argument can be."""
        if kind in ("texture", "surface"):
            return getattr(self, kind)(name, *words)
        address = ctypes.c_uint64()
        if kind == "symbol":
            size = ctypes.c_size_t()
            self.driver.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), self.module, words[0].encode())
            self.names[name] = address.value
            self.fill(name, size.value, *words[1:])
            return address.value
        size = ctypes.c_size_t(int(words[0]))
        give_back = self.driver.cuMemFree_v2
        if kind == "device":
            self.driver.cuMemAlloc_v2(ctypes.byref(address), size)
        elif kind == "managed":
            self.driver.cuMemAllocManaged(ctypes.byref(address), size, 1)
        elif kind == "ordered":
            self.driver.cuMemAllocAsync(ctypes.byref(address), size, None)
            give_back = lambda address: self.driver.cuMemFreeAsync(address, None)
        elif kind == "host":
            host = ctypes.c_void_p()
            self.driver.cuMemHostAlloc(ctypes.byref(host), size, 2)
            self.driver.cuMemHostGetDevicePointer_v2(ctypes.byref(address), host, 0)
            give_back = lambda _: self.driver.cuMemFreeHost(host)
        else:
            raise ValueError(kind)
        self.release[name] = lambda: give_back(address)
        self.names[name] = address.value
        self.fill(name, *words)
        return address.value

    def fill(self, name, size, what=None, *_):
        """Fills memory with a byte, or with the words 0, 1, 2 and so on; or leaves it."""
        address, size = ctypes.c_uint64(self.names[name]), int(size)
        if what == "count":
            values = struct.pack(f"<{size // 4}I", *range(size // 4))
            self.driver.cuMemcpyHtoD_v2(address, values, ctypes.c_size_t(len(values)))
        elif what is not None:
            self.driver.cuMemsetD8_v2(address, ctypes.c_ubyte(int(what)), ctypes.c_size_t(size))

    def texture(self, name, memory, size):
        """A texture of unsigned words in memory."""
        # CUDA_RESOURCE_DESC: the kind of resource (2 is linear), a union of 128 bytes, flags.
        linear = struct.pack("<ii", 2, 0)
        linear += struct.pack("<QiIQ", self.names[memory], UNSIGNED_INT32, 1, int(size)).ljust(128, b"\0")
        linear += struct.pack("<Q", 0)
        # CUDA_TEXTURE_DESC: clamped, by points, as integers (flag 1).
        how = struct.pack("<iiiiI", 1, 1, 1, 0, 1).ljust(104, b"\0")
        object_ = ctypes.c_uint64()
        self.driver.cuTexObjectCreate(ctypes.byref(object_), linear, how, None)
        self.release = {name: lambda: self.driver.cuTexObjectDestroy(object_), **self.release}
        return object_.value

    def surface(self, name, width, height):
        """A surface of unsigned words."""
        array, object_ = ctypes.c_void_p(), ctypes.c_uint64()
        shape = Array3d(int(width), int(height), 0, UNSIGNED_INT32, 1, 2)
        self.driver.cuArray3DCreate_v2(ctypes.byref(array), ctypes.byref(shape))
        resource = struct.pack("<iiQ", 0, 0, array.value).ljust(8 + 128 + 8, b"\0")
        self.driver.cuSurfObjectCreate(ctypes.byref(object_), resource)

        def give_back():
            self.driver.cuSurfObjectDestroy(object_)
            self.driver.cuArrayDestroy(array)

        self.release[name] = give_back
        return object_.value

    def free(self, name):
        self.release.pop(name)()

    def keep(self, name):
        """It is not given back."""
        self.release.pop(name)

    def copy(self, to, source, size):
        pair = ctypes.c_uint64(self.value(to)), ctypes.c_uint64(self.value(source))
        self.driver.cuMemcpyDtoD_v2(*pair, ctypes.c_size_t(int(size)))

    def read(self, name, size):
        host = ctypes.create_string_buffer(int(size))
        self.driver.cuMemcpyDtoH_v2(host, ctypes.c_uint64(self.value(name)), ctypes.c_size_t(int(size)))

    def sync(self):
        self.driver.cuCtxSynchronize()

    def memset(self, name, size, byte, stream):
        size = ctypes.c_size_t(int(size))
        self.driver.cuMemsetD8Async(ctypes.c_uint64(self.value(name)), ctypes.c_ubyte(int(byte)), size, self.stream(stream))

    def launch(self, grid, block, *words):
        kernel, options, arguments = f"{self.case.name}_{'wrong' if self.wrong else 'right'}", {}, []
        if not self.case.is_pair():
            kernel = self.case.name
        for word in words:
            key, sign, value = word.partition("=")
            if sign:
                options[key] = value
            else:
                arguments.append(self.argument(word))
        function = ctypes.c_void_p()
        self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, options.get("kernel", kernel).encode())
        pointers = (ctypes.c_void_p * (len(arguments) + 1))(*[ctypes.addressof(argument) for argument in arguments])
        attributes = (LaunchAttribute * 2)()
        count = 0
        for key, number in (("cluster", CLUSTER), ("cooperative", COOPERATIVE)):
            if key in options:
                attributes[count].id = number
                attributes[count].value[:3] = [int(options[key]), 1, 1]
                count += 1
        shape = lambda text: (ctypes.c_uint * 3)(*([int(n) for n in text.split("x")] + [1, 1])[:3])
        stream = self.stream(options["stream"]) if "stream" in options else None
        config = LaunchConfig(shape(grid), shape(block), int(options.get("shared", 0)), stream, attributes, count)
        self.driver.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None)

    def stream(self, number):
        if number not in self.streams:
            stream = ctypes.c_void_p()
            self.driver.cuStreamCreate(ctypes.byref(stream), 1)
            self.streams[number] = stream
        return self.streams[number]

    def value(self, word):
        """A number, or an address that has a name, or one that lies so many bytes from it."""
        for sign in "+-":
            name, found, offset = word.partition(sign)
            if found and name in self.names:
                return self.names[name] + int(sign + offset)
        if ".." in word:
            here, _, there = word.partition("..")
            return (self.names[there] - self.names[here]) % (1 << 64)
        return self.names[word] if word in self.names else int(word)

    def argument(self, word):
        """An argument: words joined by commas are one structure, numbers with a point are floats."""
        if "," in word:
            pieces = [self.value(piece) for piece in word.split(",")]
            data = struct.pack(f"<Q{len(pieces) - 1}I", *pieces)
            return ctypes.create_string_buffer(data, len(data))
        if "." in word and ".." not in word:
            return ctypes.c_float(float(word))
        return ctypes.c_uint64(self.value(word) % (1 << 64))


def chosen(cases, names):
    """The cases of those names; `ALL:i/n` are every n-th."""
    for name in names:
        if name.startswith("ALL:"):
            at, _, of = name[4:].partition("/")
            yield from cases[int(at) :: int(of)]
        else:
            yield next(case for case in cases if case.name == name)


def main():
    wrong = "--right" not in sys.argv
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    driver = Driver()
    driver.cuInit(0)
    for case in chosen(read_cases(), names):
        failed = None
        try:
            Run(driver, case, wrong).all()
        except Failed as error:
            failed = str(error)
        print(json.dumps({"case": case.name, "wrong": wrong, "failed": failed}), flush=True)


if __name__ == "__main__":
    main()
