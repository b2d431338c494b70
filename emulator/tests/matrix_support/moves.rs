//! Kernels of one warp that move matrices: `ldmatrix`, `stmatrix`, `movmatrix`, and `wmma` from memory to memory.

use super::form::{Elem, Form, Kind, WMMA_SHAPES, forms};
use super::run::HEADER;

/// A kernel `k(in, out)`, and how many bytes it leaves.
pub struct Move {
    pub name: String,
    pub text: String,
    pub output: usize,
}

/// Bytes of input that each kernel may read.
pub const INPUT: usize = 8192;

/// A kernel that copies 1024 bytes to shared memory `s`, whose address is in `%s`; a lane's own row is `%row`, another for each.
fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %t, %s, %row, %v<4>, %x; .reg .b64 %in, %out, %o, %generic; .shared .align 16 .b8 s[1024];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %s, s;\n\
         mul.wide.u32 %o, %t, 16; add.u64 %in, %in, %o; mul.lo.u32 %row, %t, 16; add.u32 %row, %row, %s;\n\
         ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%in]; st.shared.v4.b32 [%row], {{%v0, %v1, %v2, %v3}};\n\
         ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%in+512]; st.shared.v4.b32 [%row+512], {{%v0, %v1, %v2, %v3}};\n\
         mad.lo.u32 %row, %t, 11, 5; rem.u32 %row, %row, 64; mad.lo.u32 %row, %row, 16, %s;\n\
         cvt.u64.u32 %generic, %row; cvta.shared.u64 %generic, %generic;\n\
         bar.warp.sync -1;\n{body}\nret;\n}}\n"
    )
}

fn registers(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|index| format!("%v{index}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Stores `%v0` and so on, all lanes of one behind all lanes of the one before.
fn results(count: usize) -> String {
    let store = |index| format!("st.global.b32 [%o+{}], %v{index};\n", index * 128);
    let stores: String = (0..count).map(store).collect();
    format!("mul.wide.u32 %o, %t, 4; add.u64 %o, %o, %out;\n{stores}")
}

/// Stores all of shared memory.
const SHARED: &str = "bar.warp.sync -1; mul.wide.u32 %o, %t, 16; add.u64 %o, %o, %out; mul.lo.u32 %row, %t, 16; add.u32 %row, %row, %s;\n\
    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%row]; st.global.v4.b32 [%o], {%v0, %v1, %v2, %v3};\n\
    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%row+512]; st.global.v4.b32 [%o+512], {%v0, %v1, %v2, %v3};";

/// `ldmatrix`, `stmatrix` and `movmatrix`.
pub fn rows() -> Vec<Move> {
    let mut moves = Vec::new();
    for (count, trans) in [1, 2, 4].into_iter().flat_map(|count| ["", ".trans"].map(|trans| (count, trans))) {
        for (space, address) in [(".shared", "%row"), (".shared::cta", "%row+16"), ("", "%generic")] {
            // The last row that `+16` may reach is the one behind row 62.
            let address = if address == "%row+16" { "%s+16" } else { address };
            let name = format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16");
            let text = kernel(&format!("{name} {}, [{address}];\n{}", registers(count), results(count)));
            moves.push(Move { name, text, output: count * 128 });
            let name = format!("stmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16");
            let address = if address == "%s+16" { "%row" } else { address };
            let text = kernel(&format!("{name} [{address}], {};\n{SHARED}", registers(count)));
            moves.push(Move { name, text, output: 1024 });
        }
    }
    let name = "movmatrix.sync.aligned.m8n8.trans.b16".to_string();
    let text = kernel(&format!("{name} %v0, %v1;\n{}", results(1)));
    moves.push(Move { name, text, output: 128 });
    moves
}

/// How `wmma` kernels name their matrices: the stride may be missing, a number or a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    Default,
    Number,
    Register,
}

/// A product by `wmma`, from memory to memory.
pub struct Product {
    pub form: Form,
    /// Whether A, B, C and D are row-major.
    pub rows: [bool; 4],
    pub stride: Stride,
    pub space: &'static str,
}

impl Product {
    /// Rows and columns of A, B, C and D.
    pub fn sizes(&self) -> [(usize, usize); 4] {
        let Form { m, n, k, .. } = self.form;
        [(m, k), (k, n), (m, n), (m, n)]
    }

    /// Elements from one row (or column) of a matrix to the next.
    pub fn distance(&self, matrix: usize) -> usize {
        let (rows, columns) = self.sizes()[matrix];
        let least = if self.rows[matrix] { columns } else { rows };
        let more = 128 / self.form.types[matrix].bits();
        if self.stride == Stride::Default { least } else { least + more }
    }

    /// Index of an element in memory.
    pub fn index(&self, matrix: usize, row: usize, column: usize) -> usize {
        let distance = self.distance(matrix);
        if self.rows[matrix] { row * distance + column } else { column * distance + row }
    }

    /// Where a matrix starts in the input; of D, in the output.
    pub fn start(&self, matrix: usize) -> usize {
        [0, 2560, 5120, 0][matrix]
    }

    pub fn kernel(&self) -> Move {
        let form = &self.form;
        let (shape, ty) = (format!("m{}n{}k{}", form.m, form.n, form.k), form.types.map(Elem::name));
        let layout = |matrix: usize| if self.rows[matrix] { "row" } else { "col" };
        let width = if form.width() == 8 { "b64" } else { "b32" };
        let list = |name: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|index| format!("%{name}{index}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let counts = form.registers();
        let lists = [0, 1, 2, 3].map(|side| list(["a", "b", "c", "d"][side], counts[side]));
        let stride = |matrix: usize| match self.stride {
            Stride::Default => String::new(),
            Stride::Number => format!(", {}", self.distance(matrix)),
            Stride::Register => format!(", %ld{matrix}"),
        };
        let mut text = format!(
            "{HEADER}.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b32 %t, %s, %x, %ld<4>; .reg .b64 %in, %out, %o; .shared .align 16 .b8 s[8192]; .reg .pred %p;\n"
        );
        for (name, count) in ["a", "b", "c", "d"].into_iter().zip(counts) {
            text += &format!(".reg .{width} %{name}<{count}>;\n");
        }
        for matrix in 0..4 {
            text += &format!("mov.u32 %ld{matrix}, {};\n", self.distance(matrix));
        }
        text += "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %s, s;\n";
        let shared = self.space.starts_with(".shared");
        if shared {
            text += "mul.lo.u32 %t, %t, 4;\nL: cvt.u64.u32 %o, %t; add.u64 %o, %o, %in; ld.global.b32 %x, [%o]; add.u32 %s, %s, %t; st.shared.b32 [%s], %x;\n\
                     mov.u32 %s, s; add.u32 %t, %t, 128; setp.lt.u32 %p, %t, 8192; @%p bra L; bar.warp.sync -1;\n";
        }
        let base = if shared { "%s" } else { "%in" };
        for (side, name) in ["a", "b", "c"].into_iter().enumerate() {
            text += &format!(
                "wmma.load.{name}.sync.aligned.{}.{shape}{}.{} {}, [{base}+{}]{};\n",
                layout(side),
                self.space,
                ty[side],
                lists[side],
                self.start(side),
                stride(side)
            );
        }
        let layouts = format!("{}.{}", layout(0), layout(1));
        let name = form.name.replace("row.col", &layouts);
        let [la, lb, lc, ld] = lists;
        text += &format!("{name} {ld}, {la}, {lb}, {lc};\n");
        text += &format!(
            "wmma.store.d.sync.aligned.{}.{shape}.global.{} [%out], {ld}{};\nret;\n}}\n",
            layout(3),
            ty[3],
            stride(3)
        );
        let lines = if self.rows[3] { self.sizes()[3].0 } else { self.sizes()[3].1 };
        let name = format!("{name}, C {} D {}, {:?} stride{}", layout(2), layout(3), self.stride, self.space);
        Move { name, text, output: lines * self.distance(3) * form.types[3].bits() / 8 }
    }
}

/// Products of all forms, each with several layouts.
pub fn products() -> Vec<Product> {
    let mut products = Vec::new();
    let strides = [Stride::Default, Stride::Number, Stride::Register];
    for form in forms().into_iter().filter(|form| form.kind == Kind::Wmma) {
        let fixed = form.types[0].bits() < 8;
        for number in 0..16usize {
            let bit = |index: usize| number >> index & 1 == 0;
            let rows = [bit(0), !bit(1), bit(2), bit(3)];
            if fixed && rows[..2] != [true, false] {
                continue;
            }
            let at = products.len();
            let space = [".global", ".shared", ""][at % 3];
            products.push(Product { form: form.clone(), rows, stride: strides[at / 3 % 3], space });
        }
    }
    assert!(WMMA_SHAPES.len() == 3);
    products
}
