//! The driver's calls that we make, with results for error codes, and what must be given back as
//! values that do so.
//!
//! cudarc finds the driver at run time, and panics where it is not there: [`load`] comes before
//! everything else.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    fmt,
    marker::PhantomData,
    ptr,
    sync::Arc,
};

use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUmodule, CUresult,
    CUstream,
};
use oxshmem_base::Error;

/// The oldest driver that has all calls: that of CUDA 11.4.
const OLDEST: c_int = 11_040;

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) call: &'static str,
    pub(super) code: CUresult,
}

pub(super) type Outcome<T> = Result<T, Failed>;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text: *const c_char = ptr::null();
        // SAFETY: it stores a pointer to a constant, or null.
        let known = unsafe { sys::cuGetErrorString(self.code, &mut text) };
        write!(f, "{}: {:?}", self.call, self.code)?;
        if known == CUresult::CUDA_SUCCESS && !text.is_null() {
            // SAFETY: the driver's texts are constants.
            write!(f, " ({})", unsafe { CStr::from_ptr(text) }.to_string_lossy())?;
        }
        Ok(())
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Self::Device { what: failed.to_string() }
    }
}

/// Makes a call, and a result of what it returns.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: each use of this macro says why.
        let code = unsafe { sys::$name($($argument),*) };
        match code {
            CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(Failed { call: stringify!($name), code }),
        }
    }};
}

pub(super) use call;

/// Finds the driver and readies it. Otherwise it says why that cannot be.
pub(super) fn load() -> Result<c_int, String> {
    // SAFETY: the driver's initialisers ask nothing of their callers.
    if !unsafe { sys::is_culib_present() } {
        return Err("there is no NVIDIA driver (libcuda.so.1)".to_owned());
    }
    let fails = |failed: Failed| format!("the NVIDIA driver does not start: {failed}");
    // SAFETY: the flags must be 0.
    call!(cuInit(0)).map_err(fails)?;
    let mut version = 0;
    // SAFETY: it stores a number.
    call!(cuDriverGetVersion(&mut version)).map_err(fails)?;
    if version < OLDEST {
        let [has, needs] = [version, OLDEST].map(|it| format!("{}.{}", it / 1000, it % 1000 / 10));
        return Err(format!("the NVIDIA driver knows CUDA {has}, and {needs} is the oldest that will do"));
    }
    Ok(version)
}

/// The devices that this process may use, in their order.
pub(super) fn devices() -> Outcome<Vec<CUdevice>> {
    let mut count = 0;
    // SAFETY: it stores a number.
    call!(cuDeviceGetCount(&mut count))?;
    let device = |ordinal| {
        let mut device = 0;
        // SAFETY: it stores a number.
        call!(cuDeviceGet(&mut device, ordinal)).map(|()| device)
    };
    (0..count).map(device).collect()
}

/// What names a device on every machine.
pub(super) fn uuid(device: CUdevice) -> Outcome<[u8; 16]> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: it stores 16 bytes.
    call!(cuDeviceGetUuid_v2(&mut uuid, device))?;
    Ok(bytemuck::cast(uuid.bytes))
}

pub(super) fn name(device: CUdevice) -> Outcome<String> {
    let mut name = [0; 256];
    // SAFETY: it stores a text of at most as many bytes.
    call!(cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device))?;
    let bytes: Vec<u8> = bytemuck::cast_slice(&name).iter().copied().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Bytes of its memory, in all.
pub(super) fn memory(device: CUdevice) -> Outcome<u64> {
    let mut bytes = 0;
    // SAFETY: it stores a number.
    call!(cuDeviceTotalMem_v2(&mut bytes, device))?;
    Ok(bytes as u64)
}

pub(super) fn attribute(device: CUdevice, attribute: CUdevice_attribute) -> Outcome<c_int> {
    let mut value = 0;
    // SAFETY: it stores a number.
    call!(cuDeviceGetAttribute(&mut value, attribute, device))?;
    Ok(value)
}

/// Whether one device reaches the memory of another.
pub(super) fn reaches(device: CUdevice, other: CUdevice) -> bool {
    let mut can = 0;
    // SAFETY: it stores a number.
    device == other || call!(cuDeviceCanAccessPeer(&mut can, device, other)).is_ok() && can != 0
}

/// The primary context of a device, which all users of the process share.
#[derive(Debug)]
pub(super) struct Context {
    device: CUdevice,
    context: CUcontext,
}

// SAFETY: the driver's calls may be made from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn retain(device: CUdevice) -> Outcome<Self> {
        let mut context = ptr::null_mut();
        // SAFETY: it stores a handle, which `drop` gives back.
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        Ok(Self { device, context })
    }

    /// Makes it this thread's until that is dropped.
    pub(super) fn enter(&self) -> Outcome<Entered<'_>> {
        // SAFETY: the context is retained.
        call!(cuCtxPushCurrent_v2(self.context))?;
        // Another thread's capture must not fail because of our calls, nor ours because of it.
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: it exchanges the thread's mode with the value.
        let exchanged = call!(cuThreadExchangeStreamCaptureMode(&mut mode));
        let before = exchanged.is_ok().then_some(mode);
        Ok(Entered { before, _context: PhantomData })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once, released once. At the process's end the driver may be gone, which
        // is no loss.
        let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
    }
}

/// A thread's use of a context.
pub(super) struct Entered<'a> {
    /// How the thread stood to captures of streams before.
    before: Option<sys::CUstreamCaptureMode>,
    /// Not `Send`: what a thread has pushed, it must pop itself.
    _context: PhantomData<(&'a Context, *mut ())>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(mut mode) = self.before {
            // SAFETY: as in `enter`.
            let _ = call!(cuThreadExchangeStreamCaptureMode(&mut mode));
        }
        let mut context = ptr::null_mut();
        // SAFETY: it was pushed by this thread.
        let _ = call!(cuCtxPopCurrent_v2(&mut context));
    }
}

/// A stream: one of ours, which does not wait for the default one and whose kernels come before
/// those of the program, or the program's.
#[derive(Debug)]
pub(super) struct Stream {
    context: Arc<Context>,
    stream: CUstream,
    ours: bool,
}

// SAFETY: the driver's calls may be made from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Outcome<Self> {
        Self::with_priority(context, |first, _| first)
    }

    /// One of ours that waits for what the program does. It comes between our others and those of
    /// the program: the device has few queues for streams of one priority, and a stream that waits
    /// keeps the others in its queue waiting.
    pub(super) fn waiting(context: &Arc<Context>) -> Outcome<Self> {
        Self::with_priority(context, |first, last| (first + last) / 2)
    }

    /// With the priority that `choose` makes of the first and the last. Lower numbers come first.
    fn with_priority(context: &Arc<Context>, choose: impl FnOnce(c_int, c_int) -> c_int) -> Outcome<Self> {
        let _entered = context.enter()?;
        let (mut stream, mut first, mut last) = (ptr::null_mut(), 0, 0);
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: it stores two numbers.
        call!(cuCtxGetStreamPriorityRange(&mut last, &mut first))?;
        // SAFETY: it stores a handle, which `drop` gives back.
        call!(cuStreamCreateWithPriority(&mut stream, flags, choose(first, last)))?;
        Ok(Self { context: Arc::clone(context), stream, ours: true })
    }

    /// A stream of the program, in a context that is entered.
    ///
    /// # Safety
    /// It must exist whenever the value is used, but for [`context`](Self::context) and
    /// [`is_ours`](Self::is_ours).
    pub(super) unsafe fn of_program(context: &Arc<Context>, stream: CUstream) -> Outcome<Option<Self>> {
        let mut its = ptr::null_mut();
        // SAFETY: passed on to the caller; it stores a handle.
        call!(cuStreamGetCtx(stream, &mut its))?;
        let found = its == context.context;
        Ok(found.then(|| Self { context: Arc::clone(context), stream, ours: false }))
    }

    /// Whether it is one of ours, and not the program's.
    pub(super) fn is_ours(&self) -> bool {
        self.ours
    }

    /// Whether what it is given becomes part of a graph.
    pub(super) fn is_captured(&self) -> Outcome<bool> {
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream exists; it stores a number.
        call!(cuStreamIsCapturing(self.stream, &mut status))?;
        Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Has it wait until an event is over, as that was last recorded.
    ///
    /// # Safety
    /// The event must exist.
    pub(super) unsafe fn wait_for(&self, event: CUevent) -> Outcome<()> {
        // SAFETY: passed on to the caller; the flags must be 0.
        call!(cuStreamWaitEvent(self.stream, event, 0))
    }

    /// Has it wait until a word of 8 bytes is equal to `value`, or else not before it.
    ///
    /// # Safety
    /// The word must be there, aligned, until the wait is over.
    pub(super) unsafe fn wait_value(&self, at: CUdeviceptr, equal: bool, value: u64) -> Outcome<()> {
        let flags = match equal {
            true => sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ,
            false => sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ,
        };
        // SAFETY: passed on to the caller.
        call!(cuStreamWaitValue64_v2(self.stream, at, value, flags as c_uint))
    }

    /// # Safety
    /// Both ends must be good for `len` bytes until the copy is over.
    pub(super) unsafe fn copy(&self, from: CUdeviceptr, to: CUdeviceptr, len: usize) -> Outcome<()> {
        // SAFETY: passed on to the caller.
        call!(cuMemcpyAsync(to, from, len, self.stream))
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Waits until all that was started is over.
    pub(super) fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the stream exists.
        call!(cuStreamSynchronize(self.stream))
    }

    /// # Safety
    /// Both ends must be good for `len` bytes until the copy is over.
    pub(super) unsafe fn copy_in(&self, from: *const u8, to: CUdeviceptr, len: usize) -> Outcome<()> {
        // SAFETY: passed on to the caller.
        call!(cuMemcpyHtoDAsync_v2(to, from.cast(), len, self.stream))
    }

    /// # Safety
    /// As above.
    pub(super) unsafe fn copy_out(&self, from: CUdeviceptr, to: *mut u8, len: usize) -> Outcome<()> {
        // SAFETY: passed on to the caller.
        call!(cuMemcpyDtoHAsync_v2(to.cast(), from, len, self.stream))
    }

    /// # Safety
    /// As above.
    pub(super) unsafe fn copy_within(&self, from: CUdeviceptr, to: CUdeviceptr, len: usize) -> Outcome<()> {
        // SAFETY: passed on to the caller.
        call!(cuMemcpyDtoDAsync_v2(to, from, len, self.stream))
    }

    /// # Safety
    /// As above.
    pub(super) unsafe fn fill(&self, at: CUdeviceptr, byte: u8, len: usize) -> Outcome<()> {
        // SAFETY: passed on to the caller.
        call!(cuMemsetD8Async(at, byte, len, self.stream))
    }

    /// Starts `blocks` blocks of `threads` threads of a kernel.
    ///
    /// # Safety
    /// `arguments` must be those of the kernel, in number and size, and what it does with them
    /// sound until it is over.
    pub(super) unsafe fn launch(
        &self,
        kernel: Kernel,
        [blocks, threads]: [u32; 2],
        arguments: &mut [*mut c_void],
    ) -> Outcome<()> {
        // SAFETY: passed on to the caller; the arguments are copied by the call.
        call!(cuLaunchKernel(
            kernel.0,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            0,
            self.stream,
            arguments.as_mut_ptr(),
            ptr::null_mut(),
        ))
    }

    /// Has the driver call `function` with `data`, on a thread of its own, when all is over that
    /// was started before. What is started later waits for the call.
    ///
    /// # Safety
    /// The function must be sound with `data` on another thread, and must not call the driver.
    pub(super) unsafe fn call_back(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Outcome<()> {
        // SAFETY: the stream exists; the rest is passed on to the caller.
        call!(cuLaunchHostFunc(self.stream, Some(function), data))
    }

    /// Has `event` be over when all is that was started before.
    pub(super) fn record(&self, event: &Event) -> Outcome<()> {
        // SAFETY: both exist, in one context.
        call!(cuEventRecord(event.event, self.stream))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.ours
            && let Ok(_entered) = self.context.enter()
        {
            // SAFETY: created once, destroyed once; what is under way goes on.
            let _ = call!(cuStreamDestroy_v2(self.stream));
        }
    }
}

/// A point in a stream.
#[derive(Debug)]
pub(super) struct Event {
    context: Arc<Context>,
    event: CUevent,
}

// SAFETY: the driver's calls may be made from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Its context must be entered.
    pub(super) fn new(context: &Arc<Context>) -> Outcome<Self> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint;
        // SAFETY: it stores a handle, which `drop` gives back.
        call!(cuEventCreate(&mut event, flags))?;
        Ok(Self { context: Arc::clone(context), event })
    }

    /// Whether all before it is over.
    pub(super) fn is_over(&self) -> Outcome<bool> {
        // SAFETY: the event exists.
        match call!(cuEventQuery(self.event)) {
            Ok(()) => Ok(true),
            Err(Failed { code: CUresult::CUDA_ERROR_NOT_READY, .. }) => Ok(false),
            Err(failed) => Err(failed),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: created once, destroyed once.
            let _ = call!(cuEventDestroy_v2(self.event));
        }
    }
}

/// Kernels that the driver has translated.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    module: CUmodule,
}

// SAFETY: the driver's calls may be made from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A kernel of a module that outlives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel(CUfunction);

// SAFETY: the driver's calls may be made from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Module {
    pub(super) fn load(context: &Arc<Context>, text: &str) -> Outcome<Self> {
        let _entered = context.enter()?;
        let text = CString::new(text).unwrap_or_default();
        let mut module = ptr::null_mut();
        // SAFETY: the text is terminated; it stores a handle, which `drop` gives back.
        call!(cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        Ok(Self { context: Arc::clone(context), module })
    }

    pub(super) fn kernel(&self, name: &str) -> Outcome<Kernel> {
        let _entered = self.context.enter()?;
        let name = CString::new(name).unwrap_or_default();
        let mut function = ptr::null_mut();
        // SAFETY: the name is terminated, the module loaded.
        call!(cuModuleGetFunction(&mut function, self.module, name.as_ptr()))?;
        Ok(Kernel(function))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: loaded once, unloaded once, when nothing is under way.
            let _ = call!(cuModuleUnload(self.module));
        }
    }
}

/// Host memory that devices reach, which is not moved or taken away.
#[derive(Debug)]
pub(super) struct Pinned {
    context: Arc<Context>,
    start: *mut u8,
    /// Its address for kernels.
    pub(super) shown: CUdeviceptr,
}

// SAFETY: memory is used from any thread.
unsafe impl Send for Pinned {}
// SAFETY: as above; its user sees to it that it has no other.
unsafe impl Sync for Pinned {}

impl Pinned {
    pub(super) fn new(context: &Arc<Context>, len: usize) -> Outcome<Self> {
        let _entered = context.enter()?;
        let mut start = ptr::null_mut();
        // Of all contexts, and mapped for their kernels.
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: it stores an address, which `drop` gives back.
        call!(cuMemHostAlloc(&mut start, len, flags))?;
        let mut pinned = Self { context: Arc::clone(context), start: start.cast(), shown: 0 };
        // SAFETY: it stores an address; the memory is mapped.
        call!(cuMemHostGetDevicePointer_v2(&mut pinned.shown, start, 0))?;
        Ok(pinned)
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated once, freed once.
            let _ = call!(cuMemFreeHost(self.start.cast()));
        }
    }
}

/// Makes host memory known to the driver, which keeps it in place. A context must be entered.
///
/// # Safety
/// It must be mapped until [`unregister`].
pub(super) unsafe fn register(start: *mut u8, len: usize) -> Outcome<()> {
    let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
    // SAFETY: passed on to the caller.
    call!(cuMemHostRegister_v2(start.cast(), len, flags))
}

/// # Safety
/// It must have been registered, from that start, and nothing may be under way on it.
pub(super) unsafe fn unregister(start: *mut u8) {
    // SAFETY: passed on to the caller.
    let _ = call!(cuMemHostUnregister(start.cast()));
}

/// The address of such memory for kernels. A context must be entered.
///
/// # Safety
/// It must be registered.
pub(super) unsafe fn shown(start: *mut u8) -> Outcome<CUdeviceptr> {
    let mut shown = 0;
    // SAFETY: it stores an address.
    call!(cuMemHostGetDevicePointer_v2(&mut shown, start.cast(), 0))?;
    Ok(shown)
}

/// Whether atomic operations of one device on the memory of another are atomic towards its own.
pub(super) fn has_native_atomics(device: CUdevice, other: CUdevice) -> bool {
    let mut has = 0;
    let attribute = sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    // SAFETY: it stores a number.
    device == other || call!(cuDeviceGetP2PAttribute(&mut has, attribute, device, other)).is_ok() && has != 0
}

/// Whether an address is in device memory, or in host memory that the driver knows. A context
/// must be entered.
pub(super) fn knows(address: *const u8) -> bool {
    let mut kind: c_uint = 0;
    let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    // SAFETY: for this attribute it stores a number.
    let asked =
        call!(cuPointerGetAttribute((&raw mut kind).cast(), attribute, address.expose_provenance() as u64));
    asked.is_ok() && kind != 0
}
