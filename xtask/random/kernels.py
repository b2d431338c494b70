"""Random CUDA C++ kernels: `kernels.py SEED COUNT FILE` writes a file with COUNT kernels, always the same for a seed.

A kernel reads 1024 words, computes with variables of all types (loops, switches, calls, recursion, local arrays, shared memory, atomics,
warp functions, inline PTX), and writes the bits of its variables: at most 48 words per thread. Every program has one result: no variable is
read before it is set, no access is out of bounds, threads meet at barriers, and atomics are commutative.
"""

import random
import sys

INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
WIDE = ["s128", "u128"]
FLOATS = ["f32", "f64", "f16", "bf16"]
COLUMNS = 48

# {0} to {2} are operands of the same type, {w} is a u32.
WORDS = """__clz({0}) __popc({0}) __brev({0}) __ffs({0}) __byte_perm({0},{1},{2}) __funnelshift_l({0},{1},{2}) __funnelshift_r({0},{1},{2})
__funnelshift_lc({0},{1},{2}) __funnelshift_rc({0},{1},{2}) __umulhi({0},{1}) __mulhi({0},{1}) __umul24({0},{1}) __mul24({0},{1}) __sad({0},{1},{2})
__usad({0},{1},{2}) __dp4a((u32){0},(u32){1},(u32){2}) __dp4a((s32){0},(s32){1},(s32){2}) __dp2a_lo((u32){0},(u32){1},(u32){2})
__dp2a_hi((s32){0},(s32){1},(s32){2}) __vadd4({0},{1}) __vaddss4({0},{1}) __vaddus2({0},{1}) __vaddus4({0},{1}) __vsubss2({0},{1})
__vsubus4({0},{1}) __vnegss2({0}) __vabsss4({0}) __vabsdiffs4({0},{1}) __vabsdiffu4({0},{1}) __vavgu4({0},{1}) __vavgs2({0},{1})
__vmaxs2({0},{1}) __vminu4({0},{1}) __vcmpgts4({0},{1}) __vseteq2({0},{1}) __vsetltu4({0},{1}) __vsads4({0},{1}) __hadd({0},{1}) __rhadd({0},{1})
__uhadd({0},{1}) __vimax3_s32({0},{1},{2}) __vimin3_u32({0},{1},{2}) __viaddmax_s32({0},{1},{2}) __vimax_s16x2_relu({0},{1})
__viaddmax_s16x2({0},{1},{2}) abs((s32){0}) words[{0}&15]""".split()
LONGS = """__clzll({0}) __popcll({0}) __brevll({0}) __ffsll({0}) __umul64hi({0},{1}) __mul64hi({0},{1}) llabs((s64){0}) ((u64)(u32){0}*(u32){1})
((s64)(s32){0}*(s32){1}+(s64){1})""".split()
EXACT = {
    "f32": """({0}+{1}) ({0}-{1}) ({0}*{1}) ({0}/{1}) fmaf({0},{1},{2}) sqrtf({0}) fabsf({0}) -({0}) fminf({0},{1}) fmaxf({0},{1}) floorf({0}) ceilf({0})
truncf({0}) rintf({0}) roundf({0}) __fadd_rz({0},{1}) __fadd_ru({0},{1}) __fmul_rd({0},{1}) __fmaf_rz({0},{1},{2}) __fdiv_ru({0},{1})
__fsqrt_rd({0}) __frcp_rz({0}) __frsqrt_rn({0}) copysignf({0},{1}) fmodf({0},{1}) ldexpf({0},(s32)({w}&63)-32) __saturatef({0})
__half2float(__float2half_rz({0})) __bfloat162float(__float2bfloat16_rn({0})) nextafterf({0},{1}) remainderf({0},{1}) (f32)ilogbf({0})
fdimf({0},{1}) hypotf({0},{1})""".split(),
    "f64": """({0}+{1}) ({0}-{1}) ({0}*{1}) ({0}/{1}) fma({0},{1},{2}) sqrt({0}) fabs({0}) -({0}) fmin({0},{1}) fmax({0},{1}) floor({0}) ceil({0}) trunc({0})
rint({0}) __dadd_rz({0},{1}) __dmul_ru({0},{1}) __fma_rd({0},{1},{2}) __ddiv_rz({0},{1}) __dsqrt_ru({0}) copysign({0},{1}) fmod({0},{1})
(f64)(f32)({0}) __hiloint2double(__double2hiint({0}),__double2loint({1}))""".split(),
    "f16": """__hadd({0},{1}) __hsub({0},{1}) __hmul({0},{1}) __hfma({0},{1},{2}) __hdiv({0},{1}) __hneg({0}) __habs({0}) __hmin({0},{1}) __hmax({0},{1})
hsqrt({0}) hrcp({0}) hfloor({0}) hceil({0}) hrint({0}) htrunc({0}) __hmin_nan({0},{1}) __hmax_nan({0},{1}) __hfma_relu({0},{1},{2})
__hadd_sat({0},{1}) __hfma_sat({0},{1},{2})""".split(),
}
EXACT["bf16"] = EXACT["f16"]
# Of the mathematical library; they use approximations of the hardware.
MATHEMATICAL = {
    "f32": """sinf({0}) cosf({0}) tanf({0}) sinhf({0}) tanhf({0}) asinf({0}) atan2f({0},{1}) expf({0}) exp2f({0}) expm1f({0}) logf({0}) log2f({0}) log1pf({0})
powf({0},{1}) erff({0}) erfinvf({0}) lgammaf({0}) tgammaf({0}) normcdff({0}) j0f({0}) cbrtf({0}) rcbrtf({0}) rsqrtf({0}) sinpif({0}) __sinf({0})
__cosf({0}) __tanf({0}) __expf({0}) __logf({0}) __powf({0},{1}) __fdividef({0},{1})""".split(),
    "f64": """sin({0}) exp({0}) log({0}) pow({0},{1}) cbrt({0}) rsqrt({0}) tanh({0}) erf({0}) atan({0}) hypot({0},{1}) lgamma({0}) cosh({0})
log1p({0})""".split(),
    "f16": "hexp({0}) hexp2({0}) hlog({0}) hlog2({0}) hsin({0}) hrsqrt({0}) htanh({0})".split(),
}
MATHEMATICAL["bf16"] = MATHEMATICAL["f16"]
# PTX that compilers emit rarely: %0 is the result, %1 to %3 are operands.
PTX = """bfe.u32 %0,%1,%2,%3;|bfe.s32 %0,%1,%2,%3;|prmt.b32.f4e %0,%1,%2,%3;|prmt.b32.b4e %0,%1,%2,%3;|prmt.b32.rc8 %0,%1,%2,%3;|prmt.b32.ecl %0,%1,%2,%3;
prmt.b32.ecr %0,%1,%2,%3;|prmt.b32.rc16 %0,%1,%2,%3;|lop3.b32 %0,%1,%2,%3,0xCA;|lop3.b32 %0,%1,%2,%3,0x96;|shf.l.wrap.b32 %0,%1,%2,%3;
shf.r.clamp.b32 %0,%1,%2,%3;|mad24.hi.u32 %0,%1,%2,%3;|mad24.lo.s32 %0,%1,%2,%3;|mul24.hi.s32 %0,%1,%2;|mad.hi.s32 %0,%1,%2,%3;|mad.hi.sat.s32 %0,%1,%2,%3;
mul.hi.u32 %0,%1,%2;|add.sat.s32 %0,%1,%2;|sub.sat.s32 %0,%1,%2;|bmsk.clamp.b32 %0,%1,%2;|bmsk.wrap.b32 %0,%1,%2;|szext.clamp.u32 %0,%1,%2;
szext.wrap.s32 %0,%1,%2;|bfind.u32 %0,%1;|bfind.shiftamt.s32 %0,%1;|cnot.b32 %0,%1;|brev.b32 %0,%1;|popc.b32 %0,%1;|abs.s32 %0,%1;
slct.u32.s32 %0,%1,%2,%3;|set.lt.u32.s32 %0,%1,%2;|fns.b32 %0,%1,0,2;|shl.b32 %0,%1,%2;|shr.s32 %0,%1,%2;|shr.u32 %0,%1,%2;
vadd.u32.u32.s32.sat %0,%1.b1,%2.h0;|vmad.u32.u32.u32.shr7 %0,%1.b1,%2.b3,%3;|vset.u32.u32.lt.max %0,%1,%2.b2,%3;|dp4a.s32.u32 %0,%1,%2,%3;
dp2a.hi.u32.s32 %0,%1,%2,%3;|cvt.pack.sat.s8.s32.b32 %0,%1,%2,%3;|cvt.pack.sat.u16.s32 %0,%1,%2;
{.reg .u32 t; add.cc.u32 t,%1,%2; addc.u32 %0,t,%3;}|{.reg .u32 t; sub.cc.u32 t,%1,%2; subc.u32 %0,t,%3;}
{.reg .u32 t; mad.lo.cc.u32 t,%1,%2,%3; madc.hi.u32 %0,%1,%2,t;}|{.reg .u32 t; add.cc.u32 t,%1,%2; addc.cc.u32 t,t,%3; addc.u32 %0,t,0;}
{.reg .pred p,q; setp.lt.and.u32 p|q,%1,%2,1; selp.u32 %0,%1,%2,q;}|{.reg .pred p; setp.gt.s32 p,%1,%2; @p mov.u32 %0,%3; @!p mov.u32 %0,7;}"""
PTX = [form for form in PTX.replace("p|q", "p!q").replace("\n", "|").split("|")]
PTX = [form.replace("p!q", "p|q") for form in PTX]
VECTORS = [("u32", "uint4", "xyzw"), ("f32", "float4", "xyzw"), ("u16", "ushort4", "xyzw"), ("u8", "uchar4", "xyzw"), ("u64", "ulonglong2", "xy"),
           ("u32", "uint2", "xy"), ("s16", "short2", "xy"), ("f32", "float2", "xy")]
VOTES = ["__ballot_sync(~0u,{c})", "(u32)__any_sync(~0u,{c})", "(u32)__all_sync(~0u,{c})", "__match_any_sync(~0u,{w}&3)", "__match_any_sync(~0u,(u64)({w}&1))",
         "__reduce_add_sync(~0u,{w})", "__reduce_max_sync(~0u,(s32){w})", "__reduce_xor_sync(~0u,{w})", "__reduce_min_sync(~0u,{w})",
         "(u32)__syncthreads_count({c})", "(u32)__syncthreads_or({c})", "(u32)__syncthreads_and({c})"]


class Body:
    """Statements of a kernel or a function, and the variables that they may use."""

    def __init__(self, rng, style, name, statements):
        self.rng, self.style, self.name = rng, style, name
        self.left = statements
        self.lines, self.indent, self.depth, self.made = [], 1, 0, 0
        # Of all variables in scope, and of those that may be assigned: (name, type).
        self.variables, self.assignable = [("tid", "u32")], []
        self.functions, self.definitions = [], []
        # Whether all threads of the block get here.
        self.together = True

    def fresh(self, prefix="v"):
        self.made += 1
        return f"{prefix}{self.made}"

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def declare(self, kind, value, prefix="v"):
        name = self.fresh(prefix)
        self.line(f"{kind} {name} = {value};")
        self.variables.append((name, kind))
        return name

    # Expressions.

    def constant(self, kind):
        rng = self.rng
        if kind in INTEGERS:
            width = int(kind[1:])
            edges = [(1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1, 1 << (width // 2)]
            value = rng.choice([rng.randint(0, 40), rng.randint(0, 40), rng.choice(edges), rng.getrandbits(width)])
            return f"(({kind}){value}ull)"
        if kind in WIDE:
            return f"(({kind})0x{rng.getrandbits(63):x}ull << 64 | 0x{rng.getrandbits(63):x}ull)"
        if kind in ("f32", "f64") and self.style["mathematical"]:
            return f"{'floats' if kind == 'f32' else 'doubles'}[{rng.randint(0, 15)}]"
        if kind == "f32":
            return rng.choice(["1.0f", "0.5f", "-2.0f", "3.1415927f", "1e-30f", "1e20f", "-0.0f", f"{rng.uniform(-100, 100):.5f}f",
                               "__int_as_float(0x7f800000)", "__int_as_float(1)"])
        if kind == "f64":
            return rng.choice(["1.0", "0.5", "-2.0", "3.141592653589793", "1e-300", "1e200", "-0.0", f"{rng.uniform(-100, 100):.9f}"])
        return f"__float2{'half' if kind == 'f16' else 'bfloat16'}({rng.uniform(-50, 50):.3f}f)"

    def leaf(self, kind):
        rng = self.rng
        names = [name for name, of in self.variables if of == kind]
        if names and rng.random() < 0.85:
            return rng.choice(names)
        place = f"in[(tid * {rng.randint(1, 7)} + {rng.randint(0, 999)}) & 1023]"
        if rng.random() < 0.5 or kind not in INTEGERS + ["f32", "f64"]:
            return self.constant(kind)
        return {"f32": f"__uint_as_float((u32){place})", "f64": f"finite({place})"}.get(kind, f"(({kind}){place})")

    def conversion(self, kind, depth):
        rng = self.rng
        of = "f32" if kind in ("f16", "bf16") else rng.choice(INTEGERS + ["f32", "f64"])
        value = self.expression(of, depth)
        names = {"s32": "int", "u32": "uint", "s64": "ll", "u64": "ull", "f32": "float", "f64": "double", "f16": "half", "bf16": "bfloat16"}
        if kind in ("f16", "bf16"):
            return f"__float2{names[kind]}_rn({value})"
        if kind in INTEGERS and of in ("f32", "f64"):
            to = kind if kind in names else "s32"
            return f"(({kind})__{names[of]}2{names[to]}_{rng.choice(['rn', 'rz', 'ru', 'rd'])}({value}))"
        if kind in ("f32", "f64") and of in ("s32", "u32", "s64", "u64") and not (kind == "f64" and of in ("s32", "u32")):
            return f"__{names[of]}2{names[kind]}_{rng.choice(['rn', 'rz', 'ru', 'rd'])}({value})"
        return f"(({kind})({value}))"

    def fill(self, form, kind, depth, first):
        """A form of the tables with operands."""
        operands = [f"({first})"] + [f"({self.expression(kind, depth)})" if f"{{{i}}}" in form else "" for i in (1, 2)]
        return form.format(*operands, w=self.expression("u32", depth) if "{w}" in form else "")

    def integer(self, kind, depth, first):
        rng = self.rng
        operator = rng.choice("+ - * & | ^ << >> / % ~ min function function".split())
        second = self.expression(kind, depth - 1 if operator in "+-*&|^" else depth - 2)
        if operator in ("+", "-", "*", "&", "|", "^"):
            return f"(({kind})({first} {operator} {second}))"
        if operator in ("<<", ">>"):
            return f"(({kind})({first} {operator} ({self.expression('u32', depth - 2)} & {int(kind[1:]) - 1})))"
        if operator in ("/", "%"):
            return f"{'quotient' if operator == '/' else 'remainder_of'}<{kind}>({first}, {second})"
        if operator == "~":
            return f"(({kind}){rng.choice(['~', '0 - '])}{first})"
        if operator == "min":
            return f"({first} {rng.choice(['<', '>', '<=', '>='])} {second} ? {first} : {second})"
        if kind in ("s32", "u32"):
            return f"(({kind}){self.fill(rng.choice(WORDS), 'u32', depth - 2, first)})"
        if kind in ("s64", "u64"):
            return f"(({kind}){self.fill(rng.choice(LONGS), kind, depth - 2, first)})"
        return f"(({kind})({first} * {second} + {self.expression(kind, depth - 2)}))"

    def wide(self, kind, depth, first):
        operator = self.rng.choice("+ - * & | ^ << >> / % narrow product".split())
        if operator in ("<<", ">>"):
            return f"({first} {operator} ({self.expression('u32', depth - 2)} & 127))"
        if operator == "narrow":
            return f"(({kind})({self.expression(self.rng.choice(INTEGERS), depth - 2)}))"
        if operator == "product":
            return f"(({kind})({self.expression('u64', depth - 2)}) * ({kind})({self.expression('s64', depth - 2)}))"
        second = self.expression(kind, depth - 2)
        if operator in ("/", "%"):
            return f"{'quotient' if operator == '/' else 'remainder_of'}<{kind}>({first}, {second})"
        return f"({first} {operator} {second})"

    def expression(self, kind, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.12:
            return self.leaf(kind)
        choice = rng.random()
        if choice < 0.12 and kind not in WIDE:
            return self.conversion(kind, depth - 1)
        if choice < 0.2:
            return f"({self.condition(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.expression(kind, depth - 1)})"
        if choice < 0.24:
            fitting = [function for function in self.functions if function[1] == kind]
            if fitting:
                name, _, parameters = rng.choice(fitting)
                return f"{name}(in, tid, {', '.join(self.expression(of, depth - 2) for of in parameters)})"
        first = self.expression(kind, depth - 1)
        if kind in WIDE:
            return self.wide(kind, depth, first)
        if kind in INTEGERS:
            return self.integer(kind, depth, first)
        forms = EXACT[kind] + (MATHEMATICAL[kind] if self.style["mathematical"] else [])
        return self.fill(rng.choice(forms), kind, depth - 1, first)

    def condition(self, depth):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.1 and depth > 0:
            return f"({self.condition(depth - 1)} {rng.choice(['&&', '||'])} {self.condition(depth - 1)})"
        if choice < 0.18:
            return f"({self.expression('u32', depth)} & {rng.choice([1, 2, 3, 4, 8])})"
        if choice < 0.22:
            return f"isnan({self.expression(rng.choice(['f32', 'f64']), depth)})"
        if choice < 0.26:
            return f"{rng.choice(['__hlt', '__hge', '__heq', '__hneu', '__hgtu'])}({self.expression('f16', depth)}, {self.expression('f16', depth)})"
        kind = rng.choice(INTEGERS + ["f32", "f64", "u32", "s32"])
        return f"({self.expression(kind, depth)} {rng.choice(['<', '>', '<=', '>=', '==', '!='])} {self.expression(kind, depth)})"

    # Statements.

    def kind(self):
        wide = WIDE if self.rng.random() < 0.3 else []
        return self.rng.choice(INTEGERS + ["u32", "s32", "u32", "s32", "u64", "f32", "f32", "f64", "f16", "bf16"] + wide)

    def block(self, count):
        """Statements in braces that the caller wrote; their variables end with them."""
        mark = len(self.variables)
        self.indent += 1
        for _ in range(count):
            self.statement()
        self.indent -= 1
        del self.variables[mark:]

    def nested(self, write, together=False):
        """A statement with a body, which the threads of a block may enter apart."""
        before = self.together
        self.together, self.depth = before and together, self.depth + 1
        write()
        self.together, self.depth = before, self.depth - 1

    def assignment(self, depth=3):
        name, kind = self.rng.choice(self.assignable)
        self.line(f"{name} = {self.expression(kind, depth)};")

    def branch(self):
        self.line(f"if ({self.condition(2)}) {{")
        self.block(self.rng.randint(1, 3))
        if self.rng.random() < 0.6:
            self.line("} else {")
            self.block(self.rng.randint(1, 3))
        self.line("}")

    def loop(self):
        """As often as a constant says: the threads stay together."""
        name = self.fresh("i")
        self.line(f"{self.rng.choice(['', '#pragma unroll 1'])}")
        self.line(f"for (u32 {name} = 0; {name} < {self.rng.randint(1, 9)}; {name}++) {{")
        self.variables.append((name, "u32"))
        self.block(self.rng.randint(1, 3))
        self.variables.remove((name, "u32"))
        self.line("}")

    def while_loop(self):
        """As often as a value of the thread says, at most 16 times."""
        name = self.fresh("i")
        self.line(f"u32 {name} = {self.expression('u32', 1)} & {self.rng.choice([3, 7, 15])};")
        self.line("do {")
        self.line(f"    {name}--;")
        self.variables.append((name, "u32"))
        self.block(self.rng.randint(1, 3))
        if self.rng.random() < 0.5:
            self.line(f"    if ({self.condition(1)}) {self.rng.choice(['break', 'continue'])};")
            self.assignment(2)
        self.line(f"}} while ({name} < 100 && {name} > 0);")

    def switch(self):
        cases = self.rng.choice([3, 5, 9])
        self.line(f"switch ({self.expression('u32', 2)} % {cases}) {{")
        for case in range(cases):
            self.line(f"case {case}: {{")
            self.block(1)
            self.line("}" + (" break;" if self.rng.random() < 0.8 else ""))
        self.line("default: {")
        self.block(1)
        self.line("} }")

    def array(self):
        """A local array with indices that are known when it runs."""
        kind, name, length = self.rng.choice(["u32", "u8", "f32", "u64", "f16", "s16", "f64"]), self.fresh("a"), self.rng.choice([4, 8, 16])
        self.line(f"{kind} {name}[{length}]; for (int q = 0; q < {length}; q++) {name}[q] = {self.expression(kind, 2)};")
        for _ in range(2):
            self.line(f"{name}[{self.expression('u32', 1)} & {length - 1}] = {self.expression(kind, 2)};")
        if kind in ("u32", "f32") and self.rng.random() < 0.4:
            self.line(f"((u8*){name})[{self.expression('u32', 1)} & {4 * length - 1}] ^= {self.expression('u8', 2)};")
        self.declare(kind, f"{name}[{self.expression('u32', 1)} & {length - 1}]")

    def structure(self):
        name, value = self.fresh("st"), self.expression
        self.line(f"Struct {name}; {name}.a = {value('u32', 2)}; {name}.b = {value('f32', 2)}; {name}.c[0] = {name}.c[1] = {value('u16', 2)};"
                  f" {name}.c[2] = 7; {name}.d = {value('s8', 2)}; {name}.e = {value('u64', 2)};")
        if self.style["calls"]:
            self.line(f"{name} = mix{self.rng.randint(0, 1)}({name}, {value('u32', 1)});")
        self.variables += [(f"{name}.{field}", kind) for field, kind in (("a", "u32"), ("b", "f32"), ("c[1]", "u16"), ("d", "s8"), ("e", "u64"))]

    def packed(self):
        name, value = self.fresh("bits"), self.expression
        if self.rng.random() < 0.5:
            self.line(f"Bits {name}; {name}.a = {value('u32', 2)}; {name}.b = {value('s32', 2)}; {name}.c = {value('u16', 2)}; {name}.d = {value('s64', 2)};"
                      f" {name}.e = {value('u64', 2)}; {name}.b += {name}.a; {name}.d ^= {name}.e;")
            for field, kind in (("a", "u32"), ("b", "s32"), ("d", "s64")):
                self.declare(kind, f"{name}.{field}")
        else:
            self.line(f"Union {name}; {name}.q = {value('u64', 2)}; {name}.h[{value('u32', 1)} & 3] = {value('u16', 2)};"
                      f" {name}.c[{value('u32', 1)} & 7] += {value('u8', 2)}; {name}.w[{value('u32', 1)} & 1] ^= {value('u32', 2)};")
            self.variables += [(f"{name}.q", "u64"), (f"{name}.w[1]", "u32")]

    def pair(self):
        """Two halves in one register."""
        of, pack, kind = self.rng.choice([("f16", "__floats2half2_rn", "__half2"), ("bf16", "__floats2bfloat162_rn", "__nv_bfloat162")])
        name, value = self.fresh("pair"), lambda: f"{pack}({self.expression('f32', 2)}, {self.expression('f32', 2)})"
        function = self.rng.choice(["__hadd2", "__hmul2", "__hsub2", "__hmin2", "__hmax2"])
        self.line(f"{kind} {name} = {function}({value()}, {value()}); {name} = __hfma2({name}, {name}, {name});")
        self.declare(of, f"{name}.x")
        self.declare(of, f"{name}.y")
        if of == "f16":
            self.declare("u32", f"__{self.rng.choice(['hgt2', 'hle2', 'heq2', 'hneu2'])}_mask({name}, __half2half2({name}.x))")

    def vector(self):
        kind, vector, fields = self.rng.choice(VECTORS)
        name, place = self.fresh(), f"(const {vector}*)&in[{self.expression('u32', 1)} & 1022]"
        self.line(f"{vector} {name} = {self.rng.choice(['*({})', '__ldg({})', '__ldcg({})']).format(place)};")
        self.variables += [(f"{name}.{field}", kind) for field in fields]

    def inline_ptx(self):
        form, name = self.rng.choice(PTX), self.fresh()
        count = max(i for i in (1, 2, 3) if f"%{i}" in form)
        operands = ", ".join(f'"r"({self.expression("u32", 2)})' for _ in range(count))
        self.line(f'u32 {name}; asm("{form}" : "=r"({name}) : {operands});')
        self.variables.append((name, "u32"))

    def shuffle(self):
        kind, how = self.rng.choice(["u32", "s32", "u64", "f32", "f64", "s64"]), self.rng.choice(["", "_up", "_down", "_xor"])
        lane = f"{self.expression('u32', 1)} & 31" if how == "" else self.rng.randint(0, 31)
        self.declare(kind, f"__shfl{how}_sync(~0u, {self.expression(kind, 2)}, {lane}{self.rng.choice(['', ', 16', ', 8', ', 4'])})")

    def vote(self):
        self.declare("u32", self.rng.choice(VOTES).format(c=self.condition(2), w=self.expression("u32", 2)))

    def some_lanes(self):
        """Functions of the warp that some lanes call, and then the others."""
        kind, mask = self.rng.choice(["u32", "s32", "f32", "u64"]), self.fresh("mask")
        name = self.declare(kind, self.expression(kind, 2))
        more = self.rng.choice([f"{name} += __reduce_add_sync({mask}, {self.expression('u32', 1)});",
                                f"{name} += __match_any_sync({mask}, {self.expression('u32', 1)} & 3);",
                                f"__syncwarp({mask}); {name} += __popc({mask} & ((1u << (ltid & 31)) - 1));", ""])
        rest = self.rng.choice(["", f" else {{ {name} += __ballot_sync(~{mask}, {self.condition(1)}); }}"])
        self.line(f"{{ bool c = {self.condition(2)}; u32 {mask} = __ballot_sync(~0u, c);"
                  f" if (c) {{ {name} = __shfl_sync({mask}, {name}, __ffs({mask}) - 1); {more} }}{rest} }}")

    def shared(self):
        kind, name = self.rng.choice(["u32", "u8", "f32", "u64", "u16", "s16"]), self.fresh("sh")
        self.line(f"__shared__ {kind} {name}[256]; __syncthreads(); {name}[ltid] = {self.expression(kind, 2)}; __syncthreads();")
        self.declare(kind, f"{name}[{self.expression('u32', 1)} % bdim]")

    def atomic(self):
        kind, name = self.rng.choice(["u32", "s32", "u64"]), self.fresh("at")
        function = self.rng.choice(["Add", "Max", "Min"] + (["Xor", "Or", "And"] if kind != "s32" else []))
        self.line(f"__shared__ {kind} {name}[8]; __syncthreads(); if (ltid < 8) {name}[ltid] = {self.constant(kind)}; __syncthreads();"
                  f" atomic{function}(&{name}[{self.expression('u32', 1)} & 7], {self.expression(kind, 2)}); __syncthreads();")
        self.declare(kind, f"{name}[{self.expression('u32', 1)} & 7]")

    def statement(self):
        self.left -= 1
        if self.left < 0:
            return self.assignment(2)
        kind = self.kind()
        choices = [(24, lambda: self.declare(kind, self.expression(kind, 3))), (25, self.assignment), (4, self.vector), (4, self.inline_ptx)]
        if self.depth < 3:
            choices += [(10, lambda: self.nested(self.branch)), (4, lambda: self.nested(self.loop, True)), (4, lambda: self.nested(self.while_loop)),
                        (5, lambda: self.nested(self.switch))]
        if self.indent == 1:
            choices += [(5, self.array), (4, self.structure), (2, self.packed), (2, self.pair)]
        if self.together:
            choices += [(3, self.some_lanes), (3, self.shuffle), (3, self.vote), (4, self.shared), (3, self.atomic)]
        weights, writers = zip(*choices)
        self.rng.choices(writers, weights)[0]()

    def function(self, index):
        """A function that later expressions call; with `calls` it may call itself, 14 times at most."""
        rng = self.rng
        result = rng.choice(["u32", "s32", "u64", "f32", "f64", "s16", "u8", "f16"])
        parameters = [kind for kind in (self.kind() for _ in range(rng.randint(1, 4))) if kind not in WIDE] or ["u32"]
        name = f"{self.name}_f{index}"
        body = Body(rng, self.style, name, rng.randint(2, 8))
        body.functions, body.made, body.together = list(self.functions), 1000 * (index + 1), False
        body.variables += [(f"p{i}", kind) for i, kind in enumerate(parameters)]
        value = body.declare(result, body.expression(result, 2), "m")
        body.assignable.append((value, result))
        for _ in range(rng.randint(1, 4)):
            body.statement()
        if rng.random() < 0.4:
            body.line(f"if ({body.condition(1)}) return {body.expression(result, 2)};")
        if self.style["calls"] and "u32" in parameters and rng.random() < 0.25:
            depth = parameters.index("u32")
            arguments = ", ".join(f"(p{i} & 15) - 1" if i == depth else f"p{i}" for i in range(len(parameters)))
            body.line(f"if ((p{depth} & 15) > 1) return {name}(in, tid, {arguments});")
        body.line(f"return {value};")
        inlined = "__noinline__ " if self.style["calls"] and rng.random() < 0.7 else rng.choice(["", "__forceinline__ "])
        signature = ", ".join(f"{kind} p{i}" for i, kind in enumerate(parameters))
        self.definitions.append(f"__device__ {inlined}{result} {name}(const u64* in, u32 tid, {signature}) {{\n" + "\n".join(body.lines) + "\n}\n")
        self.functions.append((name, result, parameters))

    def kernel(self):
        rng = self.rng
        if self.style["calls"] or rng.random() < 0.5:
            for index in range(rng.randint(0, 3)):
                self.function(index)
        self.variables.append(("ltid", "u32"))
        kinds = rng.sample(INTEGERS + FLOATS, rng.randint(4, 7)) + [kind for kind in WIDE if rng.random() < 0.15]
        for kind in kinds:
            self.assignable.append((self.declare(kind, self.expression(kind, 1), "m"), kind))
        for _ in range(rng.randint(6, 16)):
            self.statement()
        results = [variable for variable, _ in self.variables if variable not in ("tid", "ltid")][:COLUMNS]
        for column, variable in enumerate(results):
            self.line(f"out[(u64)tid * {COLUMNS} + {column}] = bits({variable});")
        return ("\n".join(self.definitions) + f'extern "C" __global__ void {self.name}(const u64* __restrict__ in, u64* out) {{\n'
                "    u32 ltid = threadIdx.x + threadIdx.y * blockDim.x, bdim = blockDim.x * blockDim.y, tid = blockIdx.x * bdim + ltid;\n"
                + "\n".join(self.lines) + "\n}\n")


def main(seed, count, path):
    rng = random.Random(seed)
    style = {"mathematical": rng.random() < 0.5, "calls": rng.random() < 0.4}
    kernels = [Body(rng, style, f"k{index}", rng.randint(10, 40)).kernel() for index in range(count)]
    with open(path, "w") as file:
        file.write('#include "prelude.cuh"\n' + "\n".join(kernels))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
