//! What the library and its users believe of a driver's streams, events and graphs, without the
//! library: on a device it shows that they are right, on the stand-in that it behaves alike.

use std::{
    ffi::c_void,
    process::Command,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUresult, CUstream, CUstreamCaptureMode as Mode};

/// Makes a call of the driver's, and a result of what it returns.
macro_rules! cu {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the handles exist, and memory is as long as what is written there: see each use.
        match unsafe { sys::$name($($argument),*) } {
            CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(code),
        }
    }};
}

/// Its streams and memory are there for the rest of the process.
struct Device {
    pinned: *mut u64,
    memory: CUdeviceptr,
}

const BYTES: usize = 1 << 20;

impl Device {
    fn new() -> Self {
        cu!(cuInit(0)).unwrap();
        let (mut device, mut context) = (0, ptr::null_mut());
        cu!(cuDeviceGet(&mut device, 0)).unwrap();
        cu!(cuDevicePrimaryCtxRetain(&mut context, device)).unwrap();
        cu!(cuCtxPushCurrent_v2(context)).unwrap();
        let (mut pinned, mut memory, mut shown) = (ptr::null_mut(), 0, 0);
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        cu!(cuMemHostAlloc(&mut pinned, BYTES, flags)).unwrap();
        cu!(cuMemHostGetDevicePointer_v2(&mut shown, pinned, 0)).unwrap();
        assert_eq!(shown, pinned.addr() as u64, "pinned memory has one address");
        cu!(cuMemAlloc_v2(&mut memory, BYTES)).unwrap();
        // SAFETY: the memory is as long.
        unsafe { pinned.write_bytes(0, BYTES) };
        Self { pinned: pinned.cast(), memory }
    }

    /// A word of pinned memory that streams use as well.
    fn word(&self, i: usize) -> &AtomicU64 {
        // SAFETY: it is there for the rest of the process, and used as an atomic alone.
        unsafe { AtomicU64::from_ptr(self.pinned.add(i)) }
    }

    fn at(&self, i: usize) -> CUdeviceptr {
        self.word(i).as_ptr().addr() as u64
    }
}

fn stream() -> CUstream {
    let mut stream = ptr::null_mut();
    cu!(cuStreamCreate(&mut stream, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32)).unwrap();
    stream
}

fn event() -> CUevent {
    let mut event = ptr::null_mut();
    cu!(cuEventCreate(&mut event, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32)).unwrap();
    event
}

/// Waits until it holds.
fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(10), "{what}");
        thread::sleep(Duration::from_micros(50));
    }
}

const PAUSE: Duration = Duration::from_millis(5);

extern "C" fn add_one(word: *mut c_void) {
    // SAFETY: callers pass a word of pinned memory.
    unsafe { AtomicU64::from_ptr(word.cast()) }.fetch_add(1, Ordering::SeqCst);
}

/// Everything of this file.
pub(crate) fn check() {
    let device = Device::new();
    waits_for_values(&device);
    events_order_streams(&device);
    graphs_replay(&device);
    captures_refuse(&device);
    println!("the driver's streams, events and graphs are as they are expected to be");
}

/// A stream waits for a word: EQ, GEQ (also around the end), AND, NOR, of 32 and 64 bits, in pinned
/// and in device memory; and writes one when what came before is over.
fn waits_for_values(device: &Device) {
    let stream = stream();
    let written = device.word(1);
    let waits: [(u32, u64, u64, u64); 5] = [
        // Flags; what is waited for; a word that does not do; one that does.
        (1, 7, 6, 7),
        (0, 7, 6, 9),
        (0, 2, u64::MAX, 5),
        (2, 0b1010, 0b0101, 0b0010),
        (3, !0b1000, 0b1000, 0),
    ];
    for (i, &(flags, value, before, after)) in waits.iter().enumerate() {
        device.word(0).store(before, Ordering::SeqCst);
        cu!(cuStreamWaitValue64_v2(stream, device.at(0), value, flags)).unwrap();
        cu!(cuStreamWriteValue64_v2(stream, device.at(1), i as u64 + 1, 0)).unwrap();
        thread::sleep(PAUSE);
        assert_eq!(cu!(cuStreamQuery(stream)), Err(CUresult::CUDA_ERROR_NOT_READY));
        assert_eq!(written.load(Ordering::SeqCst), i as u64, "it does not wait: {flags}, {value:x}");
        device.word(0).store(after, Ordering::SeqCst);
        soon("the wait does not end", || written.load(Ordering::SeqCst) == i as u64 + 1);
    }
    // Of 32 bits, in device memory: one stream waits for what another writes.
    let other = self::stream();
    cu!(cuMemsetD8Async(device.memory, 0, 64, stream)).unwrap();
    cu!(cuStreamSynchronize(stream)).unwrap();
    cu!(cuStreamWaitValue32_v2(stream, device.memory + 4, 3, 1)).unwrap();
    cu!(cuStreamWriteValue64_v2(stream, device.at(1), 100, 0)).unwrap();
    thread::sleep(PAUSE);
    assert_eq!(written.load(Ordering::SeqCst), 5);
    cu!(cuStreamWriteValue32_v2(other, device.memory + 4, 3, 0)).unwrap();
    soon("the wait in device memory does not end", || written.load(Ordering::SeqCst) == 100);
    for stream in [stream, other] {
        cu!(cuStreamSynchronize(stream)).unwrap();
        assert_eq!(cu!(cuStreamQuery(stream)), Ok(()));
    }
    // Neither aligned nor anything's.
    assert!(cu!(cuStreamWaitValue64_v2(stream, device.at(0) + 4, 0, 0)).is_err());
    cu!(cuStreamDestroy_v2(stream)).unwrap();
    cu!(cuStreamDestroy_v2(other)).unwrap();
}

/// A stream waits for an event as it was recorded last at the time of the call, also after the
/// event and the stream are destroyed, and its work goes on then.
fn events_order_streams(device: &Device) {
    let (first, second, event) = (stream(), stream(), event());
    assert_eq!(cu!(cuEventQuery(event)), Ok(()), "an event that was never recorded is over");
    device.word(0).store(0, Ordering::SeqCst);
    device.word(1).store(0, Ordering::SeqCst);
    cu!(cuStreamWaitValue64_v2(first, device.at(0), 1, 0)).unwrap();
    cu!(cuEventRecord(event, first)).unwrap();
    cu!(cuStreamWaitEvent(second, event, 0)).unwrap();
    // What is recorded later does not matter to those that wait already.
    cu!(cuStreamWaitValue64_v2(first, device.at(0), 2, 0)).unwrap();
    cu!(cuEventRecord(event, first)).unwrap();
    cu!(cuStreamWriteValue64_v2(second, device.at(1), 1, 0)).unwrap();
    thread::sleep(PAUSE);
    assert_eq!(device.word(1).load(Ordering::SeqCst), 0);
    assert_eq!(cu!(cuEventQuery(event)), Err(CUresult::CUDA_ERROR_NOT_READY));
    device.word(0).store(1, Ordering::SeqCst);
    soon("the second stream waits for too much", || device.word(1).load(Ordering::SeqCst) == 1);
    assert_eq!(cu!(cuEventQuery(event)), Err(CUresult::CUDA_ERROR_NOT_READY));
    cu!(cuStreamWaitEvent(second, event, 0)).unwrap();
    cu!(cuLaunchHostFunc(second, Some(add_one), device.word(1).as_ptr().cast())).unwrap();
    cu!(cuEventDestroy_v2(event)).unwrap();
    cu!(cuStreamDestroy_v2(first)).unwrap();
    thread::sleep(PAUSE);
    assert_eq!(device.word(1).load(Ordering::SeqCst), 1);
    device.word(0).store(2, Ordering::SeqCst);
    cu!(cuStreamSynchronize(second)).unwrap();
    assert_eq!(device.word(1).load(Ordering::SeqCst), 2, "the host function comes after the event");
    cu!(cuStreamDestroy_v2(second)).unwrap();
    // The default stream, and the priorities.
    cu!(cuMemsetD8Async(device.memory, 5, 8, ptr::null_mut())).unwrap();
    cu!(cuStreamSynchronize(ptr::null_mut())).unwrap();
    let (mut least, mut greatest, mut high) = (0, 0, ptr::null_mut());
    cu!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest)).unwrap();
    assert!(greatest <= least, "lower numbers are higher priorities");
    cu!(cuStreamCreateWithPriority(&mut high, 1, greatest)).unwrap();
    cu!(cuMemcpyDtoHAsync_v2(device.word(2).as_ptr().cast(), device.memory, 8, high)).unwrap();
    cu!(cuStreamSynchronize(high)).unwrap();
    assert_eq!(device.word(2).load(Ordering::SeqCst), 0x0505_0505_0505_0505);
    let (mut context, mut own) = (ptr::null_mut(), ptr::null_mut());
    cu!(cuStreamGetCtx(high, &mut context)).unwrap();
    cu!(cuCtxGetCurrent(&mut own)).unwrap();
    assert_eq!(context, own);
    cu!(cuStreamDestroy_v2(high)).unwrap();
}

/// A graph of two streams with a fill, copies, writes and a host function, launched twice.
fn graphs_replay(device: &Device) {
    let (stream, side, fork, join) = (stream(), self::stream(), event(), event());
    for i in 0..4 {
        device.word(i).store(0, Ordering::SeqCst);
    }
    let (mut graph, mut program) = (ptr::null_mut(), ptr::null_mut());
    let mut capture = |ask: bool| {
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        cu!(cuStreamBeginCapture_v2(stream, Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)).unwrap();
        cu!(cuStreamIsCapturing(stream, &mut status)).unwrap();
        assert_eq!(status, sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
        cu!(cuMemcpyHtoDAsync_v2(device.memory, device.word(0).as_ptr().cast(), 8, stream)).unwrap();
        cu!(cuEventRecord(fork, stream)).unwrap();
        cu!(cuStreamWaitEvent(side, fork, 0)).unwrap();
        cu!(cuMemcpyDtoDAsync_v2(device.memory + 64, device.memory, 8, side)).unwrap();
        cu!(cuEventRecord(join, side)).unwrap();
        cu!(cuStreamWaitEvent(stream, join, 0)).unwrap();
        cu!(cuMemcpyDtoHAsync_v2(device.word(1).as_ptr().cast(), device.memory + 64, 8, stream)).unwrap();
        cu!(cuStreamWriteValue64_v2(stream, device.at(2), 9, 0)).unwrap();
        cu!(cuLaunchHostFunc(stream, Some(add_one), device.word(3).as_ptr().cast())).unwrap();
        if ask {
            assert!(cu!(cuEventQuery(join)).is_err());
        }
        cu!(cuStreamEndCapture(stream, &mut graph))
    };
    let broken = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    assert_eq!(capture(true), Err(broken), "a question for a captured event ends the capture");
    capture(false).unwrap();
    assert_eq!(device.word(3).load(Ordering::SeqCst), 0, "nothing happens while it is captured");
    cu!(cuGraphInstantiateWithFlags(&mut program, graph, 0)).unwrap();
    for turn in 1..=2 {
        device.word(0).store(40 + turn, Ordering::SeqCst);
        cu!(cuGraphLaunch(program, stream)).unwrap();
        cu!(cuStreamSynchronize(stream)).unwrap();
        let words = [1, 2, 3].map(|i| device.word(i).load(Ordering::SeqCst));
        assert_eq!(words, [40 + turn, 9, turn]);
    }
    cu!(cuGraphExecDestroy(program)).unwrap();
    cu!(cuGraphDestroy(graph)).unwrap();
    for stream in [stream, side] {
        cu!(cuStreamDestroy_v2(stream)).unwrap();
    }
}

/// What a capture does not bear, of the thread that captures and of others.
fn captures_refuse(device: &Device) {
    let (stream, idle) = (stream(), event());
    let (unsupported, broken) =
        (CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    let mut graph = ptr::null_mut();
    let mut context = ptr::null_mut();
    cu!(cuCtxGetCurrent(&mut context)).unwrap();
    let [context, idle_there] = [context.addr(), idle.addr()];
    // Another thread may ask for an event, unless the capture is global and the thread does not
    // say that this is no concern of the capture.
    let ask = move |relaxed: bool| {
        thread::spawn(move || {
            cu!(cuCtxPushCurrent_v2(ptr::with_exposed_provenance_mut(context))).unwrap();
            let mut mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
            if relaxed {
                cu!(cuThreadExchangeStreamCaptureMode(&mut mode)).unwrap();
                assert_eq!(mode, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL);
            }
            cu!(cuEventQuery(ptr::with_exposed_provenance_mut(idle_there)))
        })
        .join()
        .unwrap()
    };
    for (mode, relaxed, answer) in [
        (Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false, Ok(())),
        (Mode::CU_STREAM_CAPTURE_MODE_RELAXED, false, Ok(())),
        (Mode::CU_STREAM_CAPTURE_MODE_GLOBAL, true, Ok(())),
        (Mode::CU_STREAM_CAPTURE_MODE_GLOBAL, false, Err(unsupported)),
    ] {
        cu!(cuStreamBeginCapture_v2(stream, mode)).unwrap();
        cu!(cuMemsetD8Async(device.memory, 1, 8, stream)).unwrap();
        assert_eq!(ask(relaxed), answer, "{mode:?}, relaxed: {relaxed}");
        let ended = cu!(cuStreamEndCapture(stream, &mut graph));
        assert_eq!(ended, answer.map_err(|_| broken), "{mode:?}, relaxed: {relaxed}");
    }
    // Waiting for a captured stream, and for what is not captured.
    cu!(cuStreamBeginCapture_v2(stream, Mode::CU_STREAM_CAPTURE_MODE_RELAXED)).unwrap();
    assert_eq!(cu!(cuStreamSynchronize(stream)), Err(unsupported));
    assert_eq!(cu!(cuStreamEndCapture(stream, &mut graph)), Err(broken));
    let other = self::stream();
    cu!(cuEventRecord(idle, other)).unwrap();
    cu!(cuStreamBeginCapture_v2(stream, Mode::CU_STREAM_CAPTURE_MODE_RELAXED)).unwrap();
    let isolation = CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    assert_eq!(cu!(cuStreamWaitEvent(stream, idle, 0)), Err(isolation));
    assert_eq!(cu!(cuStreamEndCapture(stream, &mut graph)), Err(broken));
    // A stream that was drawn in must be waited for.
    cu!(cuStreamBeginCapture_v2(stream, Mode::CU_STREAM_CAPTURE_MODE_RELAXED)).unwrap();
    cu!(cuEventRecord(idle, stream)).unwrap();
    cu!(cuStreamWaitEvent(other, idle, 0)).unwrap();
    cu!(cuMemsetD8Async(device.memory, 1, 8, other)).unwrap();
    let unjoined = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    assert_eq!(cu!(cuStreamEndCapture(stream, &mut graph)), Err(unjoined));
    for stream in [stream, other] {
        cu!(cuMemsetD8Async(device.memory, 1, 8, stream)).unwrap();
        cu!(cuStreamSynchronize(stream)).unwrap();
        cu!(cuStreamDestroy_v2(stream)).unwrap();
    }
    cu!(cuEventDestroy_v2(idle)).unwrap();
}

extern "C" fn calls_the_driver(_: *mut c_void) {
    let _ = cu!(cuCtxSynchronize());
}

/// What no driver forgives, by its name, and what the stand-in says to it.
const MISUSES: [(&str, &str); 4] = [
    ("stream", "a destroyed stream is used"),
    ("event", "a destroyed event is used"),
    ("context", "a stream is used in another context"),
    ("host function", "is called by a host function of a stream"),
];

/// Does one of them, after which there is no process.
pub(crate) fn misuse(name: &str) {
    let device = Device::new();
    let (stream, event) = (stream(), event());
    match name {
        "stream" => {
            cu!(cuStreamDestroy_v2(stream)).unwrap();
            let _ = cu!(cuMemsetD8Async(device.memory, 0, 8, stream));
        }
        "event" => {
            cu!(cuEventDestroy_v2(event)).unwrap();
            let _ = cu!(cuStreamWaitEvent(stream, event, 0));
        }
        "context" => {
            let mut other = ptr::null_mut();
            cu!(cuDevicePrimaryCtxRetain(&mut other, 1)).unwrap();
            cu!(cuCtxPushCurrent_v2(other)).unwrap();
            let _ = cu!(cuMemsetD8Async(device.memory, 0, 8, stream));
        }
        _ => {
            cu!(cuLaunchHostFunc(stream, Some(calls_the_driver), ptr::null_mut())).unwrap();
            let _ = cu!(cuStreamSynchronize(stream));
        }
    }
}

/// The stand-in ends a process that does something of the kind, and says what it was.
pub(crate) fn misuses() {
    for (name, text) in MISUSES {
        let mut command = Command::new(std::env::current_exe().expect("this program's path"));
        let ended = command.args(["--run", "misuse", "--filter", name]).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && stderr.contains(text), "{name}: {stderr}");
    }
}
