//! How a collective begins, whatever it is and whatever the type of its elements: its description
//! chooses the way.

use std::sync::Arc;

use super::operands::Operands;
use crate::{
    algorithm::called::Called, message::Wide, operation::Operation, queue::Collective, reduction::Kernel,
};

/// Each is code of its own, in which the compiler knows the operation.
impl<'a> Operands<'a> {
    pub(super) fn begin_reduce(self, kernel: &'static Kernel) -> Collective<'a> {
        self.begin(Operation::Reduce(kernel))
    }

    pub(super) fn begin_scan(self, kernel: &'static Kernel, inclusive: bool) -> Collective<'a> {
        self.begin(Operation::Scan { kernel, inclusive })
    }

    pub(super) fn begin_broadcast(self, root: usize, to_root: bool) -> Collective<'a> {
        self.begin(Operation::Broadcast { root, to_root })
    }

    pub(super) fn begin_fcollect(self) -> Collective<'a> {
        self.begin(Operation::Fcollect)
    }

    pub(super) fn begin_collect(self) -> Collective<'a> {
        self.begin(Operation::Collect)
    }

    pub(super) fn begin_alltoall(self) -> Collective<'a> {
        self.begin(Operation::Alltoall)
    }

    pub(super) fn begin_alltoalls(self, [dst, sst]: [usize; 2], nelems: usize) -> Collective<'a> {
        self.begin(Operation::Alltoalls { dst, sst, nelems })
    }

    /// Begins one that the compiler does not know, by the code of its own.
    pub(super) fn begin_any(self, operation: Operation) -> Collective<'a> {
        match operation {
            Operation::Meet => unreachable!("it has no operands"),
            Operation::Broadcast { root, to_root } => self.begin_broadcast(root, to_root),
            Operation::Reduce(kernel) => self.begin_reduce(kernel),
            Operation::Scan { kernel, inclusive } => self.begin_scan(kernel, inclusive),
            Operation::Fcollect => self.begin_fcollect(),
            Operation::Collect => self.begin_collect(),
            Operation::Alltoall => self.begin_alltoall(),
            Operation::Alltoalls { dst, sst, nelems } => self.begin_alltoalls([dst, sst], nelems),
        }
    }

    #[inline(always)]
    fn begin(self, operation: Operation) -> Collective<'a> {
        if self.on_device() {
            return self.begin_on_device(operation);
        }
        self.trace();
        let (core, memory) = (self.core, self.memory);
        let call = match self.describe(operation) {
            Ok(call) => call,
            Err(error) => return core.refuse(self.call, error),
        };
        if let Some(wide) = core.group.wide() {
            return self.between_hosts(call, wide);
        }
        let choices = &core.group.choices;
        match call.operation {
            _ if choices.in_slots(call.operation, call.given()) => core.exchange(call, memory),
            Operation::Broadcast { root, to_root } if choices.pushes(call.source.len()) => {
                core.broadcast_in_tree(&call, root, to_root, memory)
            }
            _ => self.direct(call),
        }
    }

    /// Has the PEs reach into each other's memory. Not inline, as what follows, so that the way of
    /// the small ones stays narrow.
    #[inline(never)]
    fn direct(self, call: Called) -> Collective<'a> {
        self.core.direct(call, self.memory)
    }

    /// Leaves the collective of a team on several hosts to a task.
    #[cold]
    #[inline(never)]
    fn between_hosts(self, call: Called, wide: &Arc<Wide>) -> Collective<'a> {
        let wide = Arc::clone(wide);
        match call.operation {
            Operation::Meet => {
                self.task(
                    call.signature,
                    move |group| async move { wide.sync_for(&group, call.signature).await },
                )
            }
            Operation::Broadcast { root, to_root } => self.task(call.signature, move |group| async move {
                wide.broadcast(&group, &call, root, to_root).await
            }),
            Operation::Reduce(kernel) => self
                .task(call.signature, move |group| async move { wide.reduce(&group, &call, kernel).await }),
            Operation::Scan { kernel, inclusive } => self.task(call.signature, move |group| async move {
                wide.scan(&group, &call, kernel, inclusive).await
            }),
            Operation::Fcollect => {
                self.task(call.signature, move |group| async move { wide.fcollect(&group, &call).await })
            }
            Operation::Collect => {
                self.task(call.signature, move |group| async move { wide.collect(&group, &call).await })
            }
            Operation::Alltoall | Operation::Alltoalls { .. } => {
                self.task(call.signature, move |group| async move { wide.alltoall(&group, &call).await })
            }
        }
    }
}
