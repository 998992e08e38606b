//! The two names of a routine: `pshmem_…`, which is the function, and `shmem_…`, a weak alias that a profiling library
//! may replace (`OpenSHMEM 1.6 §10`).

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

/// Defines `shmem_$stem` and `shmem_ctx_$stem`, which `$body` does, called with the [`Call`](crate::call::Call) and the
/// arguments.
macro_rules! with_ctx {
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

/// Defines the C function `$name`, which has a short way: `$direct`, called with `$way` and the arguments. Where that gives
/// nothing, `$body` does it, called with `$call` and the arguments. It is in a function of its own, which gets the arguments
/// as they came, so that nothing is kept on the short way in case that it fails.
macro_rules! export_direct {
    (
        $name:expr, ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?,
        $way:expr => $direct:expr, $call:expr => $body:expr
    ) => {
        $crate::export::export!($name, |name| ($($arg: $ty),*) $(-> $ret)? {
            #[cold]
            #[inline(never)]
            extern "C" fn otherwise($($arg: $ty),*) $(-> $ret)? {
                $body($call, $($arg),*)
            }
            match $direct($way, $($arg),*) {
                Some(value) => value,
                None => otherwise($($arg),*),
            }
        });
    };
}

/// Defines `shmem_$stem` and `shmem_ctx_$stem`, which have a short way: a function called with the context's
/// [`Direct`](oxshmem_ops::direct::Direct) and the arguments.
macro_rules! with_ctx_direct {
    ($stem:expr, ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, $direct:expr, $body:expr) => {
        $crate::export::export_direct!(
            concat!("shmem_", $stem), ($($arg: $ty),*) $(-> $ret)?,
            &$crate::state::DIRECT => $direct,
            $crate::call::Call::new(concat!("shmem_", $stem)) => $body
        );
        $crate::export::export_direct!(
            concat!("shmem_ctx_", $stem), (ctx: $crate::call::CtxHandle, $($arg: $ty),*) $(-> $ret)?,
            $crate::call::direct(ctx) => |direct, _, $($arg: $ty),*| $direct(direct, $($arg),*),
            $crate::call::Call::on(concat!("shmem_ctx_", $stem), ctx) => |call, _, $($arg: $ty),*| $body(call, $($arg),*)
        );
    };
}

pub(crate) use {export, export_direct, weak_alias, with_ctx, with_ctx_direct};
