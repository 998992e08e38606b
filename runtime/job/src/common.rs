//! What the PEs of one process have in common, whichever hosts the launcher puts them on.

use std::{any::Any, sync::Arc};

use oxshmem_base::sync::{Mutex, lock};

/// One value of each type.
///
/// ```
/// use std::sync::Arc;
/// use oxshmem_job::Common;
///
/// let common = Common::default();
/// let first = common.of(|| 7_u32);
/// assert!(Arc::ptr_eq(&first, &common.of(|| 8_u32)));
/// assert_eq!(*common.of(|| "of another type"), "of another type");
/// ```
#[derive(Debug, Default)]
pub struct Common(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Common {
    /// The value of type `T`, which is made when it is first asked for.
    /// `make` must not ask for another.
    pub fn of<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = lock(&self.0);
        if let Some(value) = values.iter().find_map(|value| Arc::clone(value).downcast().ok()) {
            return value;
        }
        let value = Arc::new(make());
        values.push(Arc::clone(&value) as Arc<dyn Any + Send + Sync>);
        value
    }
}
