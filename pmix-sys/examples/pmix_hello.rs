//! Every process prints its rank and what the launcher gave it, and reads what its right neighbour
//! put. Start it with `mpirun -n 4`, `prterun -n 4` or `srun --mpi=pmix -n 4`.

use std::{
    ffi::CStr,
    process::ExitCode,
    ptr::{null, null_mut},
};

use pmix_sys::*;

const CARD: &CStr = c"oxshmem.card";

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("pmix_hello: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, String> {
    let pmix = Pmix::load().map_err(|error| error.to_string())?;
    let check = |what: &str, status| match status {
        PMIX_SUCCESS => Ok(()),
        _ => Err(format!("{what}: {}", pmix.status_text(status))),
    };

    let mut me = pmix_proc_t::default();
    // SAFETY: it stores who this is.
    check("init", unsafe { pmix.PMIx_Init(&mut me, null_mut(), 0) })?;
    let job = me.with_rank(PMIX_RANK_WILDCARD);

    let get = |from: &pmix_proc_t, key: &CStr| {
        let mut raw = null_mut();
        // SAFETY: it stores a value, and that is the caller's.
        unsafe {
            let status = pmix.PMIx_Get(from, key.as_ptr(), null(), 0, &mut raw);
            check(&key.to_string_lossy(), status)?;
            Value::from_raw(pmix, raw).ok_or("there is no value".to_owned())
        }
    };
    let number = |key| get(&job, key)?.as_unsigned().ok_or(format!("{key:?} is no number"));
    let (size, local_size) = (number(PMIX_JOB_SIZE)?, number(PMIX_LOCAL_SIZE)?);
    let peers = get(&job, PMIX_LOCAL_PEERS)?;
    // Not every launcher tells all of these.
    let rest = [PMIX_LOCAL_RANK, PMIX_HOSTNAME, PMIX_NODEID].map(|key| match get(&me, key) {
        Ok(value) => format!("{value:?}"),
        Err(error) => error,
    });

    let card = format!("the card of {}", me.rank);
    let mut value = pmix_value_t::bytes(card.as_bytes());
    let collect = [pmix_info_t::new(PMIX_COLLECT_DATA, pmix_value::flag(true))];
    // SAFETY: PMIx copies the value in the call, and reads one directive in the last one.
    unsafe {
        check("put", pmix.PMIx_Put(PMIX_GLOBAL, CARD.as_ptr(), &mut value))?;
        check("commit", pmix.PMIx_Commit())?;
        check("fence", pmix.PMIx_Fence(&job, 1, collect.as_ptr(), 1))?;
    }
    let neighbour = me.with_rank((me.rank + 1) % size as u32);
    let found = get(&neighbour, CARD)?;
    let found = String::from_utf8_lossy(found.as_bytes().unwrap_or_default()).into_owned();

    let line = format!(
        "rank {} of {size} in {:?}: {local_size} on this host, {peers:?}; local rank, host, node: {}; \
         found {found:?}; {pmix:?}",
        me.rank,
        me.nspace(),
        rest.join(", ")
    );
    // SAFETY: nothing of PMIx is used after it.
    check("finalize", unsafe { pmix.PMIx_Finalize(null(), 0) })?;
    Ok(line)
}
