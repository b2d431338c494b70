"""Device arrays between Python and Rust through DLPack, with nothing but the standard library.

    cargo build -p cuda-launch-interop
    python3 examples/interop/dlpack.py target/debug/libcuda_launch_dlpack.so

`Array` has what the DLPack standard asks of a producer, so `torch.from_dlpack(array)` and `cupy.from_dlpack(array)` take it;
`from_dlpack` takes what those have. Where PyTorch with a GPU is installed, the last part does both.
"""

import ctypes
import gc
import sys

NEW, OLD = b"dltensor_versioned", b"dltensor"
USED = {NEW: b"used_dltensor_versioned", OLD: b"used_dltensor"}
CUDA, LEGACY_STREAM = 2, 1

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def load(path):
    """The Rust half."""
    rust = ctypes.CDLL(path)
    pointer, size, flag = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool
    for name, answer, arguments in [
        ("array_range", pointer, [size]),
        ("array_len", size, [pointer]),
        ("array_axpy", ctypes.c_int, [pointer, ctypes.c_float, pointer]),
        ("array_read", ctypes.c_int, [pointer, pointer]),
        ("array_free", None, [pointer]),
        ("array_into_dlpack", pointer, [pointer, flag]),
        ("array_from_dlpack", pointer, [pointer, flag]),
        ("dlpack_delete", None, [pointer, flag]),
        ("arrays_made", size, []),
        ("arrays_given_back", size, []),
        ("last_error", ctypes.c_char_p, []),
    ]:
        function = getattr(rust, name)
        function.restype, function.argtypes = answer, arguments
    return rust


def found(handle):
    """A pointer from Rust, or the error in its words."""
    if not handle:
        raise BufferError(rust.last_error().decode())
    return handle


# The capsule is being destroyed: its address, not a Python object, which would bring it back to life.
@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def give_back(capsule):
    """A capsule ends. Who took the tensor has renamed it; otherwise the tensor goes with it."""
    for name in (NEW, OLD):
        if python.PyCapsule_IsValid(capsule, name):
            rust.dlpack_delete(python.PyCapsule_GetPointer(capsule, name), name == NEW)


class Array:
    """Floats on the device. Putting them into a capsule gives them away."""

    def __init__(self, handle):
        self.handle = handle

    @classmethod
    def range(cls, count):
        return cls(found(rust.array_range(count)))

    def own(self):
        if self.handle is None:
            raise BufferError("this array has been given away")
        return self.handle

    def __len__(self):
        return rust.array_len(self.own())

    def axpy(self, factor, other):
        """self += factor * other, by a kernel."""
        if rust.array_axpy(self.own(), factor, other.own()) != 0:
            raise RuntimeError(rust.last_error().decode())

    def to_list(self):
        out = (ctypes.c_float * len(self))()
        if rust.array_read(self.own(), out) != 0:
            raise RuntimeError(rust.last_error().decode())
        return list(out)

    def __dlpack_device__(self):
        return (CUDA, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        # Rust waits before it gives the memory away, so it is ready on whatever stream the consumer has.
        if copy or dl_device not in (None, (CUDA, 0)):
            raise BufferError("the memory is given as it is, where it is")
        handle, self.handle = self.own(), None
        name = NEW if max_version is not None and max_version[0] >= 1 else OLD
        tensor = found(rust.array_into_dlpack(handle, name == NEW))
        return python.PyCapsule_New(tensor, name, ctypes.cast(give_back, ctypes.c_void_p))

    def __del__(self):
        if self.handle is not None:
            rust.array_free(self.handle)


def from_dlpack(producer):
    """Takes the memory of any array that knows DLPack."""
    try:
        capsule = producer.__dlpack__(stream=LEGACY_STREAM, max_version=(1, 0))
    except TypeError:  # from before version 1
        capsule = producer.__dlpack__(stream=LEGACY_STREAM)
    name = next((name for name in (NEW, OLD) if python.PyCapsule_IsValid(id(capsule), name)), None)
    if name is None:
        raise BufferError("no tensor in the capsule, or one that somebody has taken")
    tensor = python.PyCapsule_GetPointer(id(capsule), name)
    # From here on the tensor is ours, and the capsule must not give it back.
    python.PyCapsule_SetName(id(capsule), USED[name])
    return Array(found(rust.array_from_dlpack(tensor, name == NEW)))


class Older:
    """A producer from before version 1 of the standard."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__(stream=stream)


def refused(kind, work):
    try:
        work()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def given_back():
    gc.collect()
    return rust.arrays_given_back()


def round_trips():
    for producer in (lambda array: array, Older):
        before = given_back()
        x, y = Array.range(1000), Array.range(1000)
        moved = from_dlpack(producer(y))
        moved.axpy(2.0, x)  # the memory that was made before, in other hands
        assert moved.to_list() == [3.0 * i for i in range(1000)]
        assert "given away" in refused(BufferError, y.to_list)
        assert given_back() == before
        del moved
        assert given_back() == before + 1
        del x
        assert given_back() == before + 2
    print("round trips through both kinds of capsule: 1000 floats each, 3 times their number")


def capsules_that_nobody_takes():
    for version in ((1, 0), None):
        before = given_back()
        capsule = Array.range(10).__dlpack__(max_version=version)
        assert given_back() == before
        del capsule
        assert given_back() == before + 1
    print("capsules that nobody takes give their memory back")


def misuse():
    before = given_back()

    class Again:
        capsule = Array.range(10).__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **_):
            return self.capsule

    taken = from_dlpack(Again())
    assert "somebody has taken" in refused(BufferError, lambda: from_dlpack(Again()))
    del Again.capsule
    assert given_back() == before
    del taken
    assert given_back() == before + 1
    print("a capsule is taken once")


def torch_too():
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: without it")
        return
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU: without it")
        return
    before = given_back()
    tensor = torch.from_dlpack(Array.range(1000))
    tensor += 1
    total = tensor.sum().item()
    assert total == 500500, total
    ours = from_dlpack(torch.ones(1000, device="cuda"))
    ours.axpy(2.0, Array.range(1000))
    assert ours.to_list() == [1.0 + 2.0 * i for i in range(1000)]
    del tensor, ours
    assert given_back() == before + 2
    print("PyTorch takes and gives")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rust = load(sys.argv[1])
    round_trips()
    capsules_that_nobody_takes()
    misuse()
    torch_too()
    assert given_back() == rust.arrays_made()
    print(f"{rust.arrays_made()} arrays made, each given back once")
