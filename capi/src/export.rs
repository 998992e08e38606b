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

pub(crate) use {export, weak_alias, with_ctx};
