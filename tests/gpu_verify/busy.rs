//! Measurements beside kernels of the program's own.

use std::time::{Duration, Instant};

use cudarc::{
    driver::{CudaContext, LaunchConfig, PushKernelArg},
    nvrtc::Ptx,
};
use oxshmem::{Error, Result, prelude::*};

use super::measure::{median, row};

/// `spin(word, value, nanoseconds)`: each thread waits so long. The first one then stores the
/// value, if there is a word.
const SPIN: &str = "
.version 6.4
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 word, .param .u64 value, .param .u64 nanoseconds)
{
  .reg .pred %p;
  .reg .b32 %block, %thread;
  .reg .b64 %word, %value, %long, %begin, %now;
  ld.param.u64 %long, [nanoseconds];
  mov.u64 %begin, %globaltimer;
AGAIN:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %p, %now, %long;
  @%p bra AGAIN;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  or.b32 %block, %block, %thread;
  setp.ne.u32 %p, %block, 0;
  @%p ret;
  ld.param.u64 %word, [word];
  setp.eq.u64 %p, %word, 0;
  @%p ret;
  ld.param.u64 %value, [value];
  st.volatile.global.u64 [%word], %value;
  ret;
}
";

/// Blocks of 1,024 threads that keep a large device busy for eight turns, and how long each takes.
const BLOCKS: u32 = 132 * 16;
const BLOCK: Duration = Duration::from_millis(1);

/// How late a word is seen that a kernel raises, and how long a copy takes while kernels fill the
/// device.
pub(crate) async fn measure(world: &World, words: &SymSlice<u64>, [a, b]: [&SymSlice<u8>; 2]) -> Result<()> {
    let failed = |error: cudarc::driver::DriverError| Error::Device { what: error.to_string() };
    let context = CudaContext::new(world.gpu()?.ordinal()).map_err(failed)?;
    let module = context.load_module(Ptx::from_src(SPIN)).map_err(failed)?;
    let spin = module.load_function("spin").map_err(failed)?;
    let stream = context.new_stream().map_err(failed)?;
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        let launch = |blocks: u32, threads: u32, word: u64, value: u64, time: Duration| {
            let time = time.as_nanos() as u64;
            let config =
                LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
            let mut launch = stream.launch_builder(&spin);
            launch.arg(&word).arg(&value).arg(&time);
            // SAFETY: these are the kernel's arguments, and the word is in device memory.
            unsafe { launch.launch(config) }.map(drop).map_err(failed)
        };
        let raised = words.at(12);
        let address = raised.as_view().device_address().unwrap_or(0);
        let mut late = Vec::new();
        for i in 1..=21 {
            let begin = Instant::now();
            launch(1, 1, address, i, BLOCK)?;
            raised.wait_until(Cmp::Ge, i).await?;
            late.push(begin.elapsed().saturating_sub(BLOCK));
        }
        row("a word that a kernel of 1 ms raises, after its time", 8, 1, median(late), None, None);
        let (len, ctx) = ((4 << 20).min(a.view().len()), world.context());
        let mut copies = Vec::new();
        for _ in 0..=5 {
            launch(BLOCKS, 1024, 0, 0, BLOCK)?;
            std::thread::sleep(BLOCK / 2);
            let begin = Instant::now();
            ctx.put_nbi(b.slice(..len), a.slice(..len).to_owned(), 0).await?;
            copies.push(begin.elapsed());
            stream.synchronize().map_err(failed)?;
        }
        row(
            "put within the device while kernels of 1 ms a block fill it",
            len,
            1,
            median(copies),
            None,
            None,
        );
    }
    world.barrier_all().await
}
