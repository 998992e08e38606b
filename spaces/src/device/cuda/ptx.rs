//! The kernels, as text: PTX, which the driver translates for whatever device there is.
//!
//! All of them take addresses as the driver gives them, and none uses shared memory. What they have
//! written is visible to all when the event behind them is over. `cargo xtask ptx` has
//! NVIDIA's assembler check the text.

use std::fmt::Write;

use oxshmem_memory::word::Atomic;

/// The kernel for atomic operations on words of this many bits.
pub(super) fn amo_name(bits: u32) -> String {
    format!("amo{bits}")
}

/// The kernel that copies blocks in units of this many bytes.
pub(super) fn blocks_name(unit: usize) -> String {
    format!("blocks{unit}")
}

/// Bytes of the units that blocks are copied in.
pub(super) const UNITS: [usize; 3] = [1, 4, 8];

pub(super) const HEAD: &str = ".version 6.4\n.target sm_70\n.address_size 64\n";

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
    for (operation, line) in [
        (Atomic::Fetch, fetch),
        (Atomic::Swap(0), swap),
        (Atomic::CompareSwap { cond: 0, value: 0 }, cas),
        (Atomic::Add(0), plain("add", 'u')),
        (Atomic::And(0), plain("and", 'b')),
        (Atomic::Or(0), plain("or", 'b')),
        (Atomic::Xor(0), plain("xor", 'b')),
    ] {
        let [number, ..] = operation.encode();
        push(text, format_args!("  setp.eq.u32 %p, %what, {number};\n  @%p {line}"));
    }
    if bits == 32 {
        push(text, format_args!("  cvt.u64.u32 %old, %old32;"));
    }
    push(text, format_args!("  st.relaxed.sys.global.u64 [%before], %old;\n  ret;\n}}"));
}

/// `%i` becomes this thread's number among all, `%all` how many there are.
pub(super) const WHERE: &str = "  mov.u32 %a, %ctaid.x;
  mov.u32 %b, %ntid.x;
  mov.u32 %d, %tid.x;
  mul.wide.u32 %i, %a, %b;
  cvt.u64.u32 %x, %d;
  add.u64 %i, %i, %x;
  mov.u32 %a, %nctaid.x;
  mul.wide.u32 %all, %a, %b;";

/// `blocks(from, to, from_stride, to_stride, units, total)`: blocks of `units` units, whose starts
/// are this many bytes apart, `total` units in all.
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
