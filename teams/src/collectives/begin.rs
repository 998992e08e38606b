//! How each collective begins, the same code for elements of every type: what its operands say
//! chooses the algorithm.

use super::operands::Operands;
use crate::{
    algorithm::{
        direct,
        exchange::Deal,
        lengths,
        room::check_room,
        tree_broadcast::TreeBroadcast,
        work::{Called, Work},
    },
    device::Work as OnDevice,
    hosts::Layout,
    queue::Collective,
    reduction::Kernel,
    signature::Call,
};

impl<'a> Operands<'a> {
    pub(super) fn begin_reduce(self, kernel: &'static Kernel) -> Collective<'a> {
        if self.on_device() {
            let sign = |call: &Self| call.sign_reduce(kernel);
            return self.begin_on_device(OnDevice::Reduce(kernel), &sign, &|it| it.begin_reduce(kernel));
        }
        self.trace();
        let signature = match self.sign_reduce(kernel) {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        let Self { core, source, dest, .. } = self;
        if let Some(wide) = core.group.wide() {
            return self.across(wide, signature, move |wide, group| async move {
                wide.reduce(&group, signature, kernel, [source, dest]).await
            });
        }
        match core.group.choices.reduces_in_slots(source.len()) {
            true => self.exchange(Deal::Reduce(kernel), signature),
            false => self.direct(Work::Reduce(kernel), signature),
        }
    }

    pub(super) fn begin_scan(self, which: Call, kernel: &'static Kernel) -> Collective<'a> {
        let inclusive = which == Call::SumInscan;
        if self.on_device() {
            let sign = |call: &Self| call.sign_scan(which, kernel);
            let work = OnDevice::Scan { kernel, inclusive };
            return self.begin_on_device(work, &sign, &|it| it.begin_scan(which, kernel));
        }
        self.trace();
        let signature = match self.sign_scan(which, kernel) {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        let Self { core, source, dest, .. } = self;
        if let Some(wide) = core.group.wide() {
            return self.across(wide, signature, move |wide, group| async move {
                wide.scan(&group, signature, kernel, inclusive, [source, dest]).await
            });
        }
        match core.group.choices.scans_in_slots(source.len()) {
            true => self.exchange(Deal::Scan { kernel, inclusive }, signature),
            false => self.direct(Work::Scan { kernel, inclusive }, signature),
        }
    }

    pub(super) fn begin_broadcast(self, root: usize, to_root: bool) -> Collective<'a> {
        let n = self.core.group.n_pes();
        if self.on_device() {
            let sign = |call: &Self| call.sign_broadcast(root, to_root, n);
            let work = OnDevice::Broadcast { root, to_root };
            return self.begin_on_device(work, &sign, &|it| it.begin_broadcast(root, to_root));
        }
        self.trace();
        let signature = match self.sign_broadcast(root, to_root, n) {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        let Self { core, source, dest, .. } = self;
        if let Some(wide) = core.group.wide() {
            return self.across(wide, signature, move |wide, group| async move {
                wide.broadcast(&group, signature, root, [source, dest], to_root).await
            });
        }
        match core.group.choices.pushes(source.len()) {
            true => self.broadcast_in_tree(signature, |signature| {
                TreeBroadcast::pushed(signature, root, source, dest, to_root)
            }),
            false => self.direct(Work::Broadcast { root, to_root, are_ready: true }, signature),
        }
    }

    pub(super) fn begin_fcollect(self) -> Collective<'a> {
        let n = self.core.group.n_pes();
        if self.on_device() {
            let sign = |call: &Self| call.sign_fcollect(n);
            return self.begin_on_device(OnDevice::Fcollect, &sign, &Self::begin_fcollect);
        }
        self.trace();
        let signature = match self.sign_fcollect(n) {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        let Self { core, source, dest, .. } = self;
        if let Some(wide) = core.group.wide() {
            return self.across(wide, signature, move |wide, group| async move {
                wide.fcollect(&group, signature, [source, dest]).await
            });
        }
        match core.group.choices.collects_in_slots(source.len()) {
            true => self.exchange(Deal::Fcollect, signature),
            false => self.direct(Work::Collect { start: core.group.me() * source.len() }, signature),
        }
    }

    pub(super) fn begin_collect(self) -> Collective<'a> {
        if self.on_device() {
            return self.begin_on_device(OnDevice::Collect, &Self::sign_collect, &Self::begin_collect);
        }
        self.trace();
        let signature = match self.sign_collect() {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        let Self { core, source, dest, size, .. } = self;
        if let Some(wide) = core.group.wide() {
            return self.across(wide, signature, move |wide, group| async move {
                wide.collect(&group, signature, [source, dest], size).await
            });
        }
        // What is short comes with the lengths; otherwise the queue goes on with what they say.
        if core.group.choices.gathers_in_slots() {
            return self.exchange(Deal::Collect { size }, signature);
        }
        self.task(signature, move |group| async move {
            let (said, _) = lengths::lengths(&group, signature, [source, dest], 0).await?;
            check_room(&group, signature, dest, size, &said)?;
            direct::run(&group, Called::collect(&group, signature, source, dest, &said)).await
        })
    }

    pub(super) fn begin_alltoall(self) -> Collective<'a> {
        let n = self.core.group.n_pes();
        if self.on_device() {
            let sign = |call: &Self| call.sign_alltoall(n);
            return self.begin_on_device(OnDevice::Alltoall, &sign, &Self::begin_alltoall);
        }
        self.trace();
        let signature = match self.sign_alltoall(n) {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        let block = signature.len() * self.size;
        let Self { core, source, dest, .. } = self;
        if let Some(wide) = core.group.wide() {
            let layout = Layout::blocks(block);
            return self.across(wide, signature, move |wide, group| async move {
                wide.alltoall(&group, signature, layout, [source, dest]).await
            });
        }
        match core.group.choices.collects_in_slots(block) {
            true => self.exchange(Deal::Alltoall { block }, signature),
            false => self.direct(Work::Alltoall, signature),
        }
    }

    pub(super) fn begin_alltoalls(self, strides: [usize; 2], nelems: usize) -> Collective<'a> {
        let n = self.core.group.n_pes();
        if self.on_device() {
            let sign = |call: &Self| call.sign_alltoalls(strides, nelems, n);
            let work = OnDevice::Alltoalls { dst: strides[0], sst: strides[1], nelems };
            return self.begin_on_device(work, &sign, &|it| it.begin_alltoalls(strides, nelems));
        }
        self.trace();
        let signature = match self.sign_alltoalls(strides, nelems, n) {
            Ok(signature) => signature,
            Err(error) => return self.core.refuse(self.call, error),
        };
        // One element is where it is, whatever the strides are.
        let [dst, sst] = if n.saturating_mul(nelems) > 1 { strides } else { [1; 2] };
        let Self { core, source, dest, size, .. } = self;
        if let Some(wide) = core.group.wide() {
            let layout = Layout { count: nelems, size, dst, sst };
            return self.across(wide, signature, move |wide, group| async move {
                wide.alltoall(&group, signature, layout, [source, dest]).await
            });
        }
        match core.group.choices.collects_in_slots(nelems * size) {
            true => self.exchange(Deal::Alltoalls { size, dst, sst }, signature),
            false => self.direct(Work::Alltoalls { size, dst, sst }, signature),
        }
    }
}
