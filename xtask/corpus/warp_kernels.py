"""Kernels of NVIDIA Warp."""

import pathlib
import tempfile

import warp as wp
from place import Place

wp.config.quiet = True
wp.init()
place = Place("warp")


@wp.struct
class Particle:
    at: wp.vec3
    speed: wp.vec3
    mass: float


@wp.kernel
def integrate(particles: wp.array(dtype=Particle), step: float):
    i = wp.tid()
    p = particles[i]
    p.speed = p.speed - wp.vec3(0.0, 9.81, 0.0) * step
    p.at = p.at + p.speed * step
    particles[i] = p


@wp.kernel
def forces(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), grid: wp.uint64, radius: float):
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in wp.hash_grid_query(grid, x[i], radius):
        d = x[j] - x[i]
        total += wp.normalize(d) / (wp.length_sq(d) + 0.01)
    wp.atomic_add(f, i, total)


@wp.kernel
def rotations(q: wp.array(dtype=wp.quat), m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    r = wp.quat_to_matrix(wp.normalize(q[i])) * wp.inverse(m[i])
    u, s, w = wp.svd3(r)
    v[i] = wp.quat_rotate(q[i], u * s) + wp.cw_mul(v[i], wp.transpose(w) * s)


@wp.kernel
def ray(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), way: wp.array(dtype=wp.vec3), hit: wp.array(dtype=float)):
    i = wp.tid()
    answer = wp.mesh_query_ray(mesh, start[i], way[i], 1.0e6)
    hit[i] = wp.where(answer.result, answer.t, -1.0)


@wp.kernel
def noises(x: wp.array2d(dtype=float), seed: int):
    i, j = wp.tid()
    state = wp.rand_init(seed, i * 100 + j)
    x[i, j] = wp.noise(state, wp.vec2(float(i), float(j))) + wp.randf(state) + wp.sin(wp.randn(state)) * wp.exp(wp.float(j))


@wp.kernel
def halves(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float64), n: int):
    i = wp.tid()
    total = wp.float64(0.0)
    for k in range(n):
        total += wp.float64(x[i * n + k]) * wp.sqrt(wp.abs(y[k]))
    y[i] = total


TILE = wp.constant(16)


@wp.kernel
def tiles(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(TILE, TILE), dtype=float)
    for k in range(4):
        left = wp.tile_load(a, shape=(TILE, TILE), offset=(i * TILE, k * TILE))
        right = wp.tile_load(b, shape=(TILE, TILE), offset=(k * TILE, j * TILE))
        total += wp.tile_map(wp.mul, left, right)
    wp.tile_store(c, total, offset=(i * TILE, j * TILE))


KERNELS = [integrate, forces, rotations, ray, noises, halves, tiles]
with tempfile.TemporaryDirectory() as folder:

    def compiled(kernel, arch, debug):
        module = wp.context.Module(f"{kernel.key}_{arch}_{debug}", None)
        adapted = wp.Kernel(kernel.func, key=kernel.key, module=module)
        module.options.update(mode="debug" if debug else "release", enable_backward=True)
        to = pathlib.Path(folder) / f"{adapted.key}_{arch}_{debug}"
        wp.compile_aot_module(module, arch=arch, module_dir=to, use_ptx=True, strip_hash=True)
        (file,) = to.glob("*.ptx")
        return file.read_text()

    for kernel in KERNELS:
        for arch, debug in [(75, False), (80, False), (90, False), (86, True)]:
            place.attempt(f"{kernel.key}_{arch}_{'debug' if debug else 'release'}", lambda: compiled(kernel, arch, debug))
place.end()
