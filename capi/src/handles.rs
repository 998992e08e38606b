//! The predefined handles as variables, for what sees no macros: generators of bindings, and the
//! foreign function interfaces of other languages.
//!
//! C and C++ use the macros of the same names, which are constants there. A space is there or not
//! only at run time: its handle and that of its team are invalid until the library is initialized.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::teams::{INVALID, SHARED, WORLD};

/// `SHMEM_CTX_DEFAULT`.
const CTX_DEFAULT: usize = 1;

/// Defines a variable for each handle: some with their values, and some that the function of the
/// library returns for a number.
macro_rules! variables {
    (constant { $($name:ident = $value:expr;)* } asked { $($asked:ident = $function:ident($which:expr);)* }) => {
        $(
            #[unsafe(no_mangle)]
            static $name: usize = $value;
        )*
        $(
            #[unsafe(no_mangle)]
            static $asked: AtomicUsize = AtomicUsize::new(INVALID);
        )*

        /// Sets those that are known from now on, or no more.
        pub(crate) fn ask() {
            // Relaxed: the program reads them behind its call of the routine that does this.
            $($asked.store(crate::spaces::$function($which).addr(), Ordering::Relaxed);)*
        }

        /// Their names and values.
        #[cfg(test)]
        fn all() -> Vec<(&'static str, oxshmem_capi_table::handles::HandleValue)> {
            use oxshmem_capi_table::handles::HandleValue::{Asked, Number};
            vec![
                $((stringify!($name), Number($name)),)*
                $((stringify!($asked), Asked(concat!("shmem_impl_", stringify!($function)), $which as u32)),)*
            ]
        }
    };
}

variables! {
    constant {
        SHMEM_CTX_DEFAULT = CTX_DEFAULT;
        SHMEM_CTX_INVALID = INVALID;
        SHMEM_TEAM_WORLD = WORLD;
        SHMEM_TEAM_SHARED = SHARED;
        SHMEM_TEAM_INVALID = INVALID;
        SHMEM_SPACE_INVALID = INVALID;
    }
    asked {
        SHMEM_SPACE_DEFAULT = space(0);
        SHMEM_SPACE_CPU = space(1);
        SHMEM_SPACE_GPU = space(2);
        SHMEM_TEAM_CPU = space_team(1);
        SHMEM_TEAM_GPU = space_team(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_variable_for_each_handle_of_the_headers() {
        let handles = oxshmem_capi_table::handles::HANDLES;
        let table: Vec<_> = handles.iter().map(|handle| (handle.name, handle.value)).collect();
        assert_eq!(all(), table);
    }
}
