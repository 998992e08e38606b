//! The kernels that combine vectors of several PEs, as text, and which of them a call needs.
//!
//! A thread works on *units*: 16 bytes where all places and the length allow it, otherwise an
//! element, or, where bits are only moved, the longest word that divides all addresses.

use std::fmt::Write;

use super::ptx::{self, HEAD, WHERE};
use crate::device::{Class, MOST_OPERANDS, Number, Pattern, ReduceOp};

/// Units that a thread has under way at a time.
pub(super) const AT_ONCE: usize = 4;

/// What the parts of an element are: bits for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Bits(usize),
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    /// A real or imaginary part, which is not combined by itself.
    Complex(usize),
}

/// One kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Combining {
    pattern: Pattern,
    op: ReduceOp,
    part: Part,
    /// Whether its units have 16 bytes, in words that are loaded at once.
    wide: bool,
}

/// One launch of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) kernel: Combining,
    /// Where it begins, in bytes from the start of each place.
    pub(super) start: usize,
    /// How many units it has.
    pub(super) units: usize,
}

/// What a call with vectors of `len` elements needs, whose places are all multiples of what
/// `addresses` is a multiple of: nearly all of it in one launch, and what is left in a second one.
pub(super) fn launches(
    pattern: Pattern,
    op: ReduceOp,
    number: Number,
    addresses: u64,
    len: usize,
) -> impl Iterator<Item = Launch> {
    let kernel = |part, wide| Combining { pattern, op, part, wide };
    let divides = |bytes: u64| addresses.is_multiple_of(bytes);
    let (most, rest) = match Part::of(pattern, op, number) {
        Part::Bits(_) => {
            let word = [8, 4, 2].into_iter().find(|&bytes| divides(bytes)).unwrap_or(1) as usize;
            (kernel(Part::Bits(8 * word), divides(16)), kernel(Part::Bits(8), false))
        }
        part => (kernel(part, part.can_be_wide() && divides(16)), kernel(part, false)),
    };
    let bytes = len * number.size();
    let units = bytes / most.unit();
    let start = units * most.unit();
    let rest = Launch { kernel: rest, start, units: (bytes - start) / rest.unit() };
    [Launch { kernel: most, start: 0, units }, rest].into_iter().filter(|launch| launch.units > 0)
}

/// What calls with such elements may need, wherever these are.
pub(super) fn kernels(pattern: Pattern, op: ReduceOp, number: Number) -> impl Iterator<Item = Combining> {
    let addresses = [16, 8, 4, 2, 1].into_iter().filter(move |&it| it >= number.align() as u64);
    // A length that leaves something for a second launch.
    addresses.flat_map(move |it| launches(pattern, op, number, it, 33)).map(|launch| launch.kernel)
}

impl Part {
    /// Bits are combined alike whatever they mean, and sums of integers whether or not they have a
    /// sign. Sums of complex numbers are those of their parts.
    fn of(pattern: Pattern, op: ReduceOp, number: Number) -> Self {
        let bits = 8 * number.size();
        if pattern == Pattern::Copy || op.class() == Class::Bitwise {
            return Self::Bits(bits);
        }
        match number {
            Number::I8 | Number::I16 | Number::I32 | Number::I64 if op.class() == Class::Ordered => {
                Self::Signed(bits)
            }
            Number::F32 | Number::F64 => Self::Float(bits),
            Number::ComplexF32 | Number::ComplexF64 if op == ReduceOp::Sum => Self::Float(bits / 2),
            Number::ComplexF32 | Number::ComplexF64 => Self::Complex(bits / 2),
            _ => Self::Unsigned(bits),
        }
    }

    /// Whether there are words of them that are loaded at once.
    fn can_be_wide(self) -> bool {
        self.bits() >= 32
    }

    fn bits(self) -> usize {
        match self {
            Self::Bits(bits)
            | Self::Signed(bits)
            | Self::Unsigned(bits)
            | Self::Float(bits)
            | Self::Complex(bits) => bits,
        }
    }

    /// What instructions call it.
    fn suffix(self) -> String {
        let letter = match self {
            Self::Bits(_) => 'b',
            Self::Signed(_) => 's',
            Self::Unsigned(_) => 'u',
            Self::Float(_) | Self::Complex(_) => 'f',
        };
        // Arithmetic on bytes is done in longer registers, of which only the low bits are stored.
        format!("{letter}{}", if letter == 'f' { self.bits() } else { self.bits().max(32) })
    }

    /// What loads and stores call it.
    fn in_memory(self) -> String {
        let letter = if matches!(self, Self::Signed(_)) { 's' } else { 'u' };
        match self {
            Self::Float(bits) | Self::Complex(bits) => format!("f{bits}"),
            _ => format!("{letter}{}", self.bits()),
        }
    }

    /// The type of its registers.
    fn register(self) -> String {
        match self {
            Self::Float(bits) | Self::Complex(bits) => format!("f{bits}"),
            _ => format!("b{}", self.bits().max(32)),
        }
    }

    /// A number with these bits.
    fn constant(self, bits_32: u32, bits_64: u64) -> String {
        match self {
            Self::Float(32) | Self::Complex(32) => format!("0f{bits_32:08X}"),
            Self::Float(_) | Self::Complex(_) => format!("0d{bits_64:016X}"),
            _ => "0".to_owned(),
        }
    }
}

impl Combining {
    /// Its name.
    pub(super) fn name(self) -> String {
        let pattern = match self.pattern {
            Pattern::Reduce => "reduce",
            Pattern::InclusiveScan => "inscan",
            Pattern::ExclusiveScan => "exscan",
            Pattern::Copy => "copy",
        };
        // A copy combines nothing, whatever the call says.
        let op = if self.pattern == Pattern::Copy { "any" } else { self.op.name() };
        let part = match self.part {
            Part::Bits(bits) => format!("b{bits}"),
            Part::Signed(bits) => format!("s{bits}"),
            Part::Unsigned(bits) => format!("u{bits}"),
            Part::Float(bits) => format!("f{bits}"),
            Part::Complex(bits) => format!("c{bits}"),
        };
        let wide = if self.wide { "_wide" } else { "" };
        format!("{pattern}_{op}_{part}{wide}")
    }

    /// Bytes of a unit.
    fn unit(self) -> usize {
        match (self.wide, self.part) {
            (true, _) => 16,
            (false, Part::Complex(bits)) => bits / 4,
            (false, part) => part.bits() / 8,
        }
    }

    /// Registers that a unit takes.
    fn registers(self) -> usize {
        self.unit() * 8 / self.part.bits()
    }

    /// A module with this kernel alone: translating all takes a while, and few are used.
    ///
    /// `kernel(from, n_from, to, n_to, units)`, where lists have room for `MOST_OPERANDS`.
    pub(super) fn text(self) -> String {
        let (room, unit) = (MOST_OPERANDS * 8, self.unit());
        let (name, register, zero) = (self.name(), self.part.register(), self.part.constant(0, 0));
        let registers = AT_ONCE * self.registers();
        let all = |what: &dyn Fn(usize) -> String| (0..AT_ONCE).map(what).collect::<String>();
        let each = |what: &dyn Fn(usize) -> String| (0..registers).map(what).collect::<String>();

        let next = all(&|k| {
            let before = if k == 0 { "%i, 0".to_owned() } else { format!("%e{}, %all", k - 1) };
            format!("  add.u64 %e{k}, {before};\n")
        });
        let bytes =
            all(&|k| format!("  setp.lt.u64 %in{k}, %e{k}, %units;\n  mul.lo.u64 %e{k}, %e{k}, {unit};\n"));
        let zeros = each(&|r| {
            format!(
                "  mov.{register} %acc{r}, {zero};\n  mov.{register} %v{r}, {zero};\n  mov.{register} %z{r}, {zero};\n"
            )
        });
        let load = |what: &str| all(&|k| self.moves(k, what, true));
        let store = |what: &str| all(&|k| self.moves(k, what, false));
        let to_next = "  ld.param.u64 %base, [%to];\n  add.u64 %to, %to, 8;\n";
        let combine = self.combine_all();
        let (first, others) = match self.pattern {
            Pattern::Reduce => (String::new(), combine),
            Pattern::InclusiveScan => {
                let tell = format!("{to_next}{}", store("acc"));
                (tell.clone(), combine + &tell)
            }
            Pattern::ExclusiveScan => {
                (format!("{to_next}{}", store("z")), format!("{to_next}{}{combine}", store("acc")))
            }
            Pattern::Copy => (format!("{to_next}{}", store("acc")), format!("{to_next}{}", store("v"))),
        };
        let last = if self.pattern == Pattern::Reduce {
            format!(
                "  mov.u32 %j, 0;
TO:
  setp.ge.u32 %more, %j, %n_to;
  @%more bra NEXT;
{to_next}{}  add.u32 %j, %j, 1;
  bra TO;
",
                store("acc")
            )
        } else {
            String::new()
        };
        let (first_load, other_load) = (load("acc"), load("v"));
        format!(
            "{HEAD}
.visible .entry {name}(.param .align 8 .b8 from[{room}], .param .u32 n_from,
  .param .align 8 .b8 to[{room}], .param .u32 n_to, .param .u64 units)
{{
  .reg .pred %p, %q, %infinite_a, %infinite_b, %more, %in<{AT_ONCE}>;
  .reg .b32 %a, %b, %d, %n_from, %n_to, %j;
  .reg .{register} %acc<{registers}>, %v<{registers}>, %z<{registers}>, %t<10>;
  .reg .b64 %i, %all, %x, %units, %from, %to, %base, %at<{AT_ONCE}>, %e<{AT_ONCE}>, %step;
  ld.param.u32 %n_from, [n_from];
  ld.param.u32 %n_to, [n_to];
  ld.param.u64 %units, [units];
{WHERE}
  mul.lo.u64 %step, %all, {AT_ONCE};
LOOP:
  setp.ge.u64 %p, %i, %units;
  @%p bra DONE;
{next}{bytes}{zeros}  mov.u64 %from, from;
  mov.u64 %to, to;
  ld.param.u64 %base, [%from];
{first_load}{first}  mov.u32 %j, 1;
FROM:
  setp.ge.u32 %more, %j, %n_from;
  @%more bra COMBINED;
  add.u64 %from, %from, 8;
  ld.param.u64 %base, [%from];
{other_load}{others}  add.u32 %j, %j, 1;
  bra FROM;
COMBINED:
{last}NEXT:
  add.u64 %i, %i, %step;
  bra LOOP;
DONE:
  ret;
}}
"
        )
    }

    /// Loads the registers `what` of a thread's unit `k` from behind `%base`, or stores them there.
    fn moves(self, k: usize, what: &str, loads: bool) -> String {
        let (count, kind) = (self.registers(), self.part.in_memory());
        let register = |i: usize| format!("%{what}{}", k * count + i);
        let list = (0..count).map(register).collect::<Vec<_>>().join(", ");
        let one = |vector: &str, at: String, list: String| match loads {
            true => format!("  @%in{k} ld.global{vector}.{kind} {list}, [{at}];\n"),
            false => format!("  @%in{k} st.global{vector}.{kind} [{at}], {list};\n"),
        };
        let moves = if self.wide {
            one(&format!(".v{count}"), format!("%at{k}"), format!("{{{list}}}"))
        } else {
            let place = |i: usize| format!("%at{k}+{}", i * self.part.bits() / 8);
            (0..count).map(|i| one("", place(i), register(i))).collect()
        };
        format!("  add.u64 %at{k}, %base, %e{k};\n{moves}")
    }

    /// Makes each `%acc` of itself and the `%v` with its number.
    fn combine_all(self) -> String {
        let registers = AT_ONCE * self.registers();
        let mut text = String::new();
        match self.part {
            Part::Complex(_) => (0..registers).step_by(2).for_each(|r| self.multiply(&mut text, r)),
            _ => (0..registers).for_each(|r| push(&mut text, format_args!("{}", self.combine(r)))),
        }
        text
    }

    /// What makes `%acc` of `%acc` and `%v`, of which `%acc` is from the lower PE.
    fn combine(self, r: usize) -> String {
        let kind = self.part.suffix();
        let (acc, v) = (format!("%acc{r}"), format!("%v{r}"));
        let float = matches!(self.part, Part::Float(_));
        let register = self.part.register();
        // A real result is rounded by itself, as nothing may be contracted.
        match self.op {
            ReduceOp::Sum if float => format!("add.rn.{kind} {acc}, {acc}, {v};"),
            ReduceOp::Sum => format!("add.{kind} {acc}, {acc}, {v};"),
            ReduceOp::Prod if float => format!("mul.rn.{kind} {acc}, {acc}, {v};"),
            ReduceOp::Prod => format!("mul.lo.{kind} {acc}, {acc}, {v};"),
            // a < b ? a : b, also where one of them is no number.
            ReduceOp::Min => {
                format!("setp.lt.{kind} %p, {acc}, {v};\n  selp.{register} {acc}, {acc}, {v}, %p;")
            }
            ReduceOp::Max => {
                format!("setp.gt.{kind} %p, {acc}, {v};\n  selp.{register} {acc}, {acc}, {v}, %p;")
            }
            ReduceOp::And => format!("and.{kind} {acc}, {acc}, {v};"),
            ReduceOp::Or => format!("or.{kind} {acc}, {acc}, {v};"),
            ReduceOp::Xor => format!("xor.{kind} {acc}, {acc}, {v};"),
        }
    }

    /// The complex product of registers `r` and `r + 1` of both, as
    /// [`complex_product`](crate::device::complex_product) has it.
    fn multiply(self, text: &mut String, r: usize) {
        let f = self.part.suffix();
        let infinity = self.part.constant(f32::INFINITY.to_bits(), f64::INFINITY.to_bits());
        let one = self.part.constant(1f32.to_bits(), 1f64.to_bits());
        let zero = self.part.constant(0, 0);
        let [a, b, c, d] =
            [("acc", r), ("acc", r + 1), ("v", r), ("v", r + 1)].map(|(x, i)| format!("%{x}{i}"));
        let mut line = |line: String| push(text, format_args!("{line}"));
        // ac, bd, ad, bc in 0 to 3, the product in 4 and 5.
        let products = |line: &mut dyn FnMut(String)| {
            for (t, x, y) in [(0, &a, &c), (1, &b, &d), (2, &a, &d), (3, &b, &c)] {
                line(format!("mul.rn.{f} %t{t}, {x}, {y};"));
            }
            line(format!("sub.rn.{f} %t4, %t0, %t1;\n  add.rn.{f} %t5, %t2, %t3;"));
        };
        products(&mut line);
        // Both are NaN, or it is done.
        line(format!(
            "setp.nan.{f} %p, %t4, %t4;\n  setp.nan.and.{f} %p, %t5, %t5, %p;\n  @!%p bra MULTIPLIED{r};"
        ));
        let mut is_infinite = |into: &str, values: &[&str]| {
            for (i, value) in values.iter().enumerate() {
                let (or, and) = if i == 0 { ("", String::new()) } else { (".or", format!(", {into}")) };
                line(format!("abs.{f} %t6, {value};\n  setp.eq{or}.{f} {into}, %t6, {infinity}{and};"));
            }
        };
        is_infinite("%infinite_a", &[&a, &b]);
        is_infinite("%infinite_b", &[&c, &d]);
        is_infinite("%q", &["%t0", "%t1", "%t2", "%t3"]);
        line(format!(
            "or.pred %q, %q, %infinite_a;\n  or.pred %q, %q, %infinite_b;\n  @!%q bra MULTIPLIED{r};"
        ));
        // A factor with an infinite part becomes its direction; elsewhere a NaN becomes 0.
        for (value, infinite) in [(&a, "a"), (&b, "a"), (&c, "b"), (&d, "b")] {
            line(format!(
                "abs.{f} %t6, {value};
  setp.eq.{f} %q, %t6, {infinity};
  selp.{f} %t6, {one}, {zero}, %q;
  copysign.{f} %t6, {value}, %t6;
  mov.{f} %t7, {zero};
  copysign.{f} %t7, {value}, %t7;
  setp.nan.{f} %q, {value}, {value};
  selp.{f} %t7, %t7, {value}, %q;
  selp.{f} {value}, %t6, %t7, %infinite_{infinite};"
            ));
        }
        products(&mut line);
        line(format!("mul.rn.{f} %t4, %t4, {infinity};\n  mul.rn.{f} %t5, %t5, {infinity};"));
        push(text, format_args!("MULTIPLIED{r}:\n  mov.{f} {a}, %t4;\n  mov.{f} {b}, %t5;"));
    }
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = writeln!(text, "  {line}");
}

/// All that the collectives need.
fn all() -> Vec<Combining> {
    let mut all = Vec::new();
    let mut add = |pattern, op, number: Number| {
        // A multiple of every unit and one that is not, at addresses that are aligned to everything
        // and to their element alone.
        for addresses in [16_u64, 8, 4, 2, 1] {
            let is_aligned = addresses.is_multiple_of(number.align() as u64);
            for launch in launches(pattern, op, number, addresses, 33).filter(|_| is_aligned) {
                if !all.contains(&launch.kernel) {
                    all.push(launch.kernel);
                }
            }
        }
    };
    for number in Number::ALL {
        for op in ReduceOp::ALL.into_iter().filter(|op| op.takes(number)) {
            add(Pattern::Reduce, op, number);
        }
        add(Pattern::InclusiveScan, ReduceOp::Sum, number);
        add(Pattern::ExclusiveScan, ReduceOp::Sum, number);
        add(Pattern::Copy, ReduceOp::Or, number);
    }
    all
}

/// All modules of kernels there are, with their names.
pub fn modules() -> Vec<(String, String)> {
    let combining = all().into_iter().map(|kernel| (kernel.name(), kernel.text()));
    [("base".to_owned(), ptx::base())].into_iter().chain(combining).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_as_wide_as_addresses_allow_and_have_every_byte_once() {
        for number in Number::ALL {
            for op in ReduceOp::ALL.into_iter().filter(|op| op.takes(number)) {
                for len in [0, 1, 2, 15, 16, 17, 1000] {
                    for addresses in [64, 16, 8, 4, 2, 1].map(|it: u64| it.max(number.align() as u64)) {
                        let mut end = 0;
                        for launch in launches(Pattern::Reduce, op, number, addresses, len) {
                            assert_eq!(launch.start, end);
                            assert!(!launch.kernel.wide || addresses.is_multiple_of(16));
                            end += launch.units * launch.kernel.unit();
                        }
                        assert_eq!(end, len * number.size(), "{op} of {number:?}");
                    }
                }
            }
        }
        let launch = |number, addresses, len| {
            launches(Pattern::Copy, ReduceOp::Sum, number, addresses, len)
                .map(|launch| (launch.kernel.name(), launch.start, launch.units))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            launch(Number::U8, 16, 35),
            [("copy_any_b64_wide".to_owned(), 0, 2), ("copy_any_b8".to_owned(), 32, 3)]
        );
        assert_eq!(launch(Number::F64, 4, 3), [("copy_any_b32".to_owned(), 0, 6)]);
    }

    #[test]
    fn every_reduction_has_kernels_whose_names_say_what_they_do() {
        let names: Vec<String> = all().into_iter().map(Combining::name).collect();
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), names.len());
        for name in [
            "reduce_sum_f32_wide",
            "reduce_sum_f32",
            "reduce_prod_c64_wide",
            "reduce_prod_c32_wide",
            "reduce_max_s8",
            "reduce_min_u16",
            "reduce_xor_b64_wide",
            "reduce_and_b8",
            "inscan_sum_u64_wide",
            "exscan_sum_u8",
            "copy_any_b64_wide",
        ] {
            assert!(names.iter().any(|it| it == name), "{name}");
        }
        // Bits: 5 units of 3 operations and of copies. The lowest and highest of 10 types, 6 of
        // which have words. Sums and scans of 4 integers and 2 reals, 4 of which have words;
        // products also of 2 complex types, with words.
        assert_eq!(names.len(), 5 * 4 + 2 * 16 + 3 * 10 + 10 + 4);
    }

    #[test]
    fn every_kernel_is_in_one_module() {
        let modules = modules();
        let entries: Vec<&str> = modules
            .iter()
            .flat_map(|(_, text)| text.lines())
            .filter_map(|line| line.strip_prefix(".visible .entry "))
            .filter_map(|line| line.split('(').next())
            .collect();
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), entries.len(), "{entries:?}");
        assert!(all().into_iter().all(|kernel| entries.contains(&&*kernel.name())));
        assert!([32, 64].iter().all(|&bits| entries.contains(&&*ptx::amo_name(bits))));
        assert!(ptx::UNITS.iter().all(|&unit| entries.contains(&&*ptx::blocks_name(unit))));
        // 2 widths of atomic operations, 3 units of blocks.
        assert_eq!(entries.len(), 2 + 3 + all().len());
        assert!(modules.iter().all(|(_, text)| text.starts_with(HEAD) && text.is_ascii()));
    }
}
