//! The two names of a routine: `pshmem_…`, which is the function, and `shmem_…`, a weak alias that
//! a profiling library may replace (`OpenSHMEM 1.6 §10`).

/// Defines the C function `$name`, with its profiling twin. In the body, `$routine` is its name.
macro_rules! export {
    ($name:expr, |$routine:ident| ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        const _: () = {
            #[unsafe(export_name = concat!("p", $name))]
            extern "C" fn routine($($arg: $ty),*) $(-> $ret)? {
                #[allow(unused)]
                let $routine = $name;
                $body
            }
        };
        $crate::export::weak_alias!($name);
    };
}

/// Makes `$name` another name of `p$name`, which is in the same object.
macro_rules! weak_alias {
    ($name:expr) => {
        ::core::arch::global_asm!(
            concat!(".weak ", $name),
            concat!(".type ", $name, ", @function"),
            concat!(".set ", $name, ", p", $name),
        );
    };
}

/// Defines `shmem_$stem` and `shmem_ctx_$stem`, which `$body` does, called with the
/// [`Call`](crate::call::Call) and the arguments. `long` takes its call out of line.
macro_rules! with_ctx {
    (long $stem:expr, ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, $body:expr) => {
        $crate::export::export!(concat!("shmem_", $stem), |name| ($($arg: $ty),*) $(-> $ret)? {
            $body($crate::call::Call::long(name), $($arg),*)
        });
        $crate::export::export!(
            concat!("shmem_ctx_", $stem),
            |name| (ctx: $crate::call::CtxHandle, $($arg: $ty),*) $(-> $ret)? {
                $body($crate::call::Call::long_on(name, ctx), $($arg),*)
            }
        );
    };
    ($stem:expr, ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, $body:expr) => {
        $crate::export::export!(concat!("shmem_", $stem), |name| ($($arg: $ty),*) $(-> $ret)? {
            $body($crate::call::Call::new(name), $($arg),*)
        });
        $crate::export::export!(
            concat!("shmem_ctx_", $stem),
            |name| (ctx: $crate::call::CtxHandle, $($arg: $ty),*) $(-> $ret)? {
                $body($crate::call::Call::on(name, ctx), $($arg),*)
            }
        );
    };
}

/// Defines the C function `$name`. First `$path`, called with `$by` and the arguments, tries the
/// path by addresses. If it returns nothing, `$body` does it, called with `$call` and the
/// arguments. That is in a function of its own, so that the path by addresses keeps nothing for it.
macro_rules! export_path {
    (
        $name:expr, ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?,
        $by:expr => $path:expr, $call:expr => $body:expr
    ) => {
        $crate::export::export!($name, |name| ($($arg: $ty),*) $(-> $ret)? {
            #[cold]
            #[inline(never)]
            extern "C" fn otherwise($($arg: $ty),*) $(-> $ret)? {
                $body($call, $($arg),*)
            }
            match $path($by, $($arg),*) {
                Some(value) => value,
                None => otherwise($($arg),*),
            }
        });
    };
}

/// Defines `shmem_$stem` and `shmem_ctx_$stem`. First `$path` is called with the context's
/// [`AddressPath`](oxshmem_ops::path::address::AddressPath) and the arguments, as in
/// [`export_path`].
macro_rules! with_ctx_path {
    ($stem:expr, ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, $path:expr, $body:expr) => {
        $crate::export::export_path!(
            concat!("shmem_", $stem), ($($arg: $ty),*) $(-> $ret)?,
            &$crate::state::DEFAULT_PATH => $path,
            $crate::call::Call::long(concat!("shmem_", $stem)) => $body
        );
        $crate::export::export_path!(
            concat!("shmem_ctx_", $stem), (ctx: $crate::call::CtxHandle, $($arg: $ty),*) $(-> $ret)?,
            $crate::call::path(ctx) => |path, _, $($arg: $ty),*| $path(path, $($arg),*),
            $crate::call::Call::long_on(concat!("shmem_ctx_", $stem), ctx) => |call, _, $($arg: $ty),*| $body(call, $($arg),*)
        );
    };
}

pub(crate) use {export, export_path, weak_alias, with_ctx, with_ctx_path};
