//! What the PEs of a job have recorded of it: read, merged, and written for people.

pub mod model;
