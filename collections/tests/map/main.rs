//! Maps over several PEs: beside hash maps, under many tasks at once, and when futures are dropped
//! and PEs are lost.

mod histories;
mod linear;
mod model;
mod plain;
