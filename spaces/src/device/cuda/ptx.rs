//! The kernels, as text: PTX, which the driver translates for whatever device there is.
//!
//! All of them take addresses as the driver gives them, and none uses shared memory. What they have
//! written is visible to everybody when the event behind them is over. `cargo xtask ptx` has
//! NVIDIA's assembler check the text.

use std::fmt::Write;

use crate::device::{Class, Number, ReduceOp};

/// The most PEs whose memory one kernel combines.
pub(super) const MOST_PES: usize = 16;

/// Elements that a thread of a combining kernel has under way at a time.
pub(super) const AT_ONCE: usize = 4;

/// What `amo` does, by its number in the kernel.
pub(super) mod amo {
    pub(in super::super) const FETCH: u32 = 0;
    pub(in super::super) const SWAP: u32 = 1;
    pub(in super::super) const COMPARE_SWAP: u32 = 2;
    pub(in super::super) const ADD: u32 = 3;
    pub(in super::super) const AND: u32 = 4;
    pub(in super::super) const OR: u32 = 5;
    pub(in super::super) const XOR: u32 = 6;
}

/// The kernel for atomic operations on words of so many bits.
pub(super) fn amo_name(bits: u32) -> String {
    format!("amo{bits}")
}

/// The kernel that copies blocks in units of so many bytes.
pub(super) fn blocks_name(unit: usize) -> String {
    format!("blocks{unit}")
}

/// The kernel that combines numbers. Bits are combined alike whatever they mean.
pub(super) fn fold_name(fold: ReduceOp, number: Number) -> String {
    format!("{}_{}", fold.name(), type_of(fold, number))
}

/// Bytes of the units that blocks are copied in.
pub(super) const UNITS: [usize; 3] = [1, 4, 8];

const HEAD: &str = ".version 6.4\n.target sm_70\n.address_size 64\n";

/// The kernels that every device needs, as a module.
pub(super) fn base() -> String {
    let mut text = HEAD.to_owned();
    for bits in [32, 64] {
        amo_kernel(&mut text, bits);
    }
    for unit in UNITS {
        blocks_kernel(&mut text, unit);
    }
    text
}

/// One that combines, as a module of its own: translating all takes a while, and few are used.
pub(super) fn fold(fold: ReduceOp, number: Number) -> String {
    let mut text = HEAD.to_owned();
    fold_kernel(&mut text, &fold_name(fold, number), fold, number);
    text
}

/// All modules there are, with their names.
pub fn modules() -> Vec<(String, String)> {
    let mut modules = vec![("base".to_owned(), base())];
    for by in ReduceOp::ALL {
        for number in Number::ALL.into_iter().filter(|&number| by.takes(number)) {
            let name = fold_name(by, number);
            if modules.iter().all(|(known, _)| *known != name) {
                modules.push((name, fold(by, number)));
            }
        }
    }
    modules
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = text.write_fmt(line);
    text.push('\n');
}

/// `amo(at, what, value, cond, before)`: one thread, one operation of system scope; what was there
/// goes to `before`.
fn amo_kernel(text: &mut String, bits: u32) {
    let name = amo_name(bits);
    let (value, cond) = if bits == 64 { ("%v", "%c") } else { ("%v32", "%c32") };
    let old = if bits == 64 { "%old" } else { "%old32" };
    push(
        text,
        format_args!(
            "
.visible .entry {name}(.param .u64 at, .param .u32 what, .param .u64 value, .param .u64 cond, .param .u64 before)
{{
  .reg .pred %p;
  .reg .b32 %what, %v32, %c32, %old32;
  .reg .b64 %at, %v, %c, %old, %before;
  ld.param.u64 %at, [at];
  ld.param.u32 %what, [what];
  ld.param.u64 %v, [value];
  ld.param.u64 %c, [cond];
  ld.param.u64 %before, [before];
  cvt.u32.u64 %v32, %v;
  cvt.u32.u64 %c32, %c;
  mov.u32 %old32, 0;
  mov.u64 %old, 0;"
        ),
    );
    let swap = format!("atom.relaxed.sys.global.exch.b{bits} {old}, [%at], {value};");
    let cas = format!("atom.relaxed.sys.global.cas.b{bits} {old}, [%at], {cond}, {value};");
    let fetch = format!("ld.relaxed.sys.global.u{bits} {old}, [%at];");
    let plain =
        |op: &str, kind: char| format!("atom.relaxed.sys.global.{op}.{kind}{bits} {old}, [%at], {value};");
    for (number, line) in [
        (amo::FETCH, fetch),
        (amo::SWAP, swap),
        (amo::COMPARE_SWAP, cas),
        (amo::ADD, plain("add", 'u')),
        (amo::AND, plain("and", 'b')),
        (amo::OR, plain("or", 'b')),
        (amo::XOR, plain("xor", 'b')),
    ] {
        push(text, format_args!("  setp.eq.u32 %p, %what, {number};\n  @%p {line}"));
    }
    if bits == 32 {
        push(text, format_args!("  cvt.u64.u32 %old, %old32;"));
    }
    push(text, format_args!("  st.relaxed.sys.global.u64 [%before], %old;\n  ret;\n}}"));
}

/// `%i` becomes this thread's number among all, `%all` how many there are.
const WHERE: &str = "  mov.u32 %a, %ctaid.x;
  mov.u32 %b, %ntid.x;
  mov.u32 %d, %tid.x;
  mul.wide.u32 %i, %a, %b;
  cvt.u64.u32 %x, %d;
  add.u64 %i, %i, %x;
  mov.u32 %a, %nctaid.x;
  mul.wide.u32 %all, %a, %b;";

/// `blocks(from, to, from_stride, to_stride, units, total)`: blocks of `units` units, whose starts
/// are so many bytes apart, `total` units in all.
fn blocks_kernel(text: &mut String, unit: usize) {
    let name = blocks_name(unit);
    let (bits, kind) = (unit * 8, if unit == 8 { "b64" } else { "b32" });
    push(
        text,
        format_args!(
            "
.visible .entry {name}(.param .u64 from, .param .u64 to, .param .u64 from_stride, .param .u64 to_stride,
  .param .u64 units, .param .u64 total)
{{
  .reg .pred %p;
  .reg .b32 %a, %b, %d;
  .reg .{kind} %v;
  .reg .b64 %i, %all, %x, %from, %to, %fs, %ts, %units, %total, %block, %within, %f, %t;
  ld.param.u64 %from, [from];
  ld.param.u64 %to, [to];
  ld.param.u64 %fs, [from_stride];
  ld.param.u64 %ts, [to_stride];
  ld.param.u64 %units, [units];
  ld.param.u64 %total, [total];
{WHERE}
LOOP:
  setp.ge.u64 %p, %i, %total;
  @%p bra DONE;
  div.u64 %block, %i, %units;
  rem.u64 %within, %i, %units;
  mul.lo.u64 %within, %within, {unit};
  mad.lo.u64 %f, %block, %fs, %from;
  add.u64 %f, %f, %within;
  mad.lo.u64 %t, %block, %ts, %to;
  add.u64 %t, %t, %within;
  ld.global.u{bits} %v, [%f];
  st.global.u{bits} [%t], %v;
  add.u64 %i, %i, %all;
  bra LOOP;
DONE:
  ret;
}}"
        ),
    );
}

/// The suffix of the instruction that combines two of them.
fn type_of(fold: ReduceOp, number: Number) -> &'static str {
    let bits = fold.class() == Class::Bitwise;
    match number {
        Number::I32 | Number::U32 if bits => "b32",
        Number::I64 | Number::U64 if bits => "b64",
        Number::I32 => "s32",
        Number::U32 => "u32",
        Number::I64 => "s64",
        Number::U64 => "u64",
        Number::F32 => "f32",
        Number::F64 => "f64",
    }
}

/// What makes `acc` of `acc` and `v`, of which `acc` is from the lower PE.
fn combining(fold: ReduceOp, number: Number, acc: &str, v: &str) -> String {
    let kind = type_of(fold, number);
    let float = matches!(number, Number::F32 | Number::F64);
    // Rounded by itself, as nothing may be contracted.
    let round = if float { ".rn" } else { "" };
    match fold {
        ReduceOp::Sum => format!("add{round}.{kind} {acc}, {acc}, {v};"),
        ReduceOp::Prod if float => format!("mul.rn.{kind} {acc}, {acc}, {v};"),
        ReduceOp::Prod => format!("mul.lo.{kind} {acc}, {acc}, {v};"),
        // a < b ? a : b, also where one of them is no number.
        ReduceOp::Min => format!("setp.lt.{kind} %p, {acc}, {v};\n  selp.{kind} {acc}, {acc}, {v}, %p;"),
        ReduceOp::Max => format!("setp.gt.{kind} %p, {acc}, {v};\n  selp.{kind} {acc}, {acc}, {v}, %p;"),
        ReduceOp::And => format!("and.{kind} {acc}, {acc}, {v};"),
        ReduceOp::Or => format!("or.{kind} {acc}, {acc}, {v};"),
        ReduceOp::Xor => format!("xor.{kind} {acc}, {acc}, {v};"),
    }
}

/// `fold(from, n_from, to, n_to, len)`: element by element, all of `from` combined in their order,
/// into each of `to`.
fn fold_kernel(text: &mut String, name: &str, fold: ReduceOp, number: Number) {
    let kind = type_of(fold, number);
    let (size, room) = (number.size(), MOST_PES * 8);
    push(
        text,
        format_args!(
            "
.visible .entry {name}(.param .align 8 .b8 from[{room}], .param .u32 n_from,
  .param .align 8 .b8 to[{room}], .param .u32 n_to, .param .u64 len)
{{
  .reg .pred %p, %more, %in<{AT_ONCE}>;
  .reg .b32 %a, %b, %d, %n_from, %n_to, %j;
  .reg .{kind} %acc<{AT_ONCE}>, %v<{AT_ONCE}>;
  .reg .b64 %i, %all, %x, %len, %list, %base, %at<{AT_ONCE}>, %e<{AT_ONCE}>, %step;
  ld.param.u32 %n_from, [n_from];
  ld.param.u32 %n_to, [n_to];
  ld.param.u64 %len, [len];
{WHERE}
  mul.lo.u64 %step, %all, {AT_ONCE};
LOOP:
  setp.ge.u64 %p, %i, %len;
  @%p bra DONE;
  mov.u64 %e0, %i;"
        ),
    );
    for k in 1..AT_ONCE {
        push(text, format_args!("  add.u64 %e{k}, %e{}, %all;", k - 1));
    }
    for k in 0..AT_ONCE {
        push(text, format_args!("  setp.lt.u64 %in{k}, %e{k}, %len;\n  mul.lo.u64 %e{k}, %e{k}, {size};"));
    }
    let zero = if matches!(number, Number::F32) && kind == "f32" {
        "0f00000000"
    } else if kind == "f64" {
        "0d0000000000000000"
    } else {
        "0"
    };
    push(text, format_args!("  mov.u64 %list, from;\n  ld.param.u64 %base, [%list];"));
    for k in 0..AT_ONCE {
        push(text, format_args!("  mov.{kind} %acc{k}, {zero};\n  mov.{kind} %v{k}, {zero};"));
        push(
            text,
            format_args!("  add.u64 %at{k}, %base, %e{k};\n  @%in{k} ld.global.{kind} %acc{k}, [%at{k}];"),
        );
    }
    push(
        text,
        format_args!("  mov.u32 %j, 1;\nFROM:\n  setp.ge.u32 %more, %j, %n_from;\n  @%more bra FOLDED;"),
    );
    push(text, format_args!("  add.u64 %list, %list, 8;\n  ld.param.u64 %base, [%list];"));
    for k in 0..AT_ONCE {
        push(
            text,
            format_args!("  add.u64 %at{k}, %base, %e{k};\n  @%in{k} ld.global.{kind} %v{k}, [%at{k}];"),
        );
    }
    for k in 0..AT_ONCE {
        push(text, format_args!("  {}", combining(fold, number, &format!("%acc{k}"), &format!("%v{k}"))));
    }
    push(
        text,
        format_args!("  add.u32 %j, %j, 1;\n  bra FROM;\nFOLDED:\n  mov.u64 %list, to;\n  mov.u32 %j, 0;"),
    );
    push(
        text,
        format_args!(
            "TO:\n  setp.ge.u32 %more, %j, %n_to;\n  @%more bra NEXT;\n  ld.param.u64 %base, [%list];"
        ),
    );
    for k in 0..AT_ONCE {
        push(
            text,
            format_args!("  add.u64 %at{k}, %base, %e{k};\n  @%in{k} st.global.{kind} [%at{k}], %acc{k};"),
        );
    }
    push(
        text,
        format_args!(
            "  add.u64 %list, %list, 8;
  add.u32 %j, %j, 1;
  bra TO;
NEXT:
  add.u64 %i, %i, %step;
  bra LOOP;
DONE:
  ret;
}}"
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for by in ReduceOp::ALL {
            for number in Number::ALL.into_iter().filter(|&number| by.takes(number)) {
                assert!(entries.contains(&&*fold_name(by, number)), "{by:?} of {number:?}");
            }
        }
        assert!([32, 64].iter().all(|&bits| entries.contains(&&*amo_name(bits))));
        assert!(UNITS.iter().all(|&unit| entries.contains(&&*blocks_name(unit))));
        // 2 widths, 3 units; 4 foldings of 6 kinds of numbers, 3 of 2 kinds of bits.
        assert_eq!(entries.len(), 2 + 3 + 4 * 6 + 3 * 2);
        assert!(modules.iter().all(|(_, text)| text.starts_with(HEAD) && text.is_ascii()));
    }
}
