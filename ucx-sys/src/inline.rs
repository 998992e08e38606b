//! What UCX's headers define as macros and inline functions, which no library contains.
//!
//! A function that starts an operation returns a "status pointer": null if it is already complete,
//! a small negative number in the form of a pointer if it failed, and otherwise the request that
//! stands for the operation.

#![allow(non_snake_case)]

use crate::{
    UCP_DATATYPE_CONTIG, UCP_DATATYPE_SHIFT, UCS_ERR_LAST, UCS_INPROGRESS, UCS_OK, ucp_datatype_t,
    ucs_status_ptr_t, ucs_status_t,
};

/// Whether the operation failed at once. [`UCS_PTR_RAW_STATUS`] is the reason.
#[inline(always)]
pub fn UCS_PTR_IS_ERR(status: ucs_status_ptr_t) -> bool {
    status.addr() >= UCS_ERR_LAST as isize as usize
}

/// Whether the operation is under way, and this its request, which the caller has to free.
#[inline(always)]
pub fn UCS_PTR_IS_PTR(status: ucs_status_ptr_t) -> bool {
    status.addr().wrapping_sub(1) < (UCS_ERR_LAST as isize as usize) - 1
}

/// The status in a status pointer that is no request.
#[inline(always)]
pub fn UCS_PTR_RAW_STATUS(status: ucs_status_ptr_t) -> ucs_status_t {
    status.addr() as ucs_status_t
}

/// The status in a status pointer; [`UCS_INPROGRESS`] if it is a request.
#[inline(always)]
pub fn UCS_PTR_STATUS(status: ucs_status_ptr_t) -> ucs_status_t {
    if UCS_PTR_IS_PTR(status) { UCS_INPROGRESS } else { UCS_PTR_RAW_STATUS(status) }
}

/// The status pointer of an operation that is complete with this status, as handlers of UCX return
/// it.
#[inline(always)]
pub fn UCS_STATUS_PTR(status: ucs_status_t) -> ucs_status_ptr_t {
    debug_assert!(status <= UCS_OK);
    std::ptr::without_provenance_mut(status as isize as usize)
}

/// The data type of elements of `size` bytes that lie side by side.
#[inline(always)]
pub const fn ucp_dt_make_contig(size: usize) -> ucp_datatype_t {
    ((size as ucp_datatype_t) << UCP_DATATYPE_SHIFT) | UCP_DATATYPE_CONTIG as ucp_datatype_t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UCS_ERR_NO_MEMORY, UCS_ERR_NO_MESSAGE};

    #[test]
    fn null_is_an_operation_that_is_complete() {
        let null = std::ptr::null_mut();
        assert!(!UCS_PTR_IS_ERR(null) && !UCS_PTR_IS_PTR(null));
        assert_eq!(UCS_PTR_STATUS(null), UCS_OK);
    }

    #[test]
    fn every_error_survives_the_way_through_a_pointer() {
        for status in UCS_ERR_LAST..UCS_OK {
            let pointer = UCS_STATUS_PTR(status);
            assert!(UCS_PTR_IS_ERR(pointer) && !UCS_PTR_IS_PTR(pointer), "{status}");
            assert_eq!(UCS_PTR_STATUS(pointer), status);
            assert_eq!(UCS_PTR_RAW_STATUS(pointer), status);
        }
        assert_eq!(UCS_PTR_STATUS(UCS_STATUS_PTR(UCS_ERR_NO_MEMORY)), UCS_ERR_NO_MEMORY);
        assert_eq!(UCS_STATUS_PTR(UCS_ERR_NO_MESSAGE).addr(), usize::MAX);
    }

    #[test]
    fn an_address_is_a_request_in_progress() {
        let mut request = 0_u64;
        let pointer: ucs_status_ptr_t = (&raw mut request).cast();
        assert!(UCS_PTR_IS_PTR(pointer) && !UCS_PTR_IS_ERR(pointer));
        assert_eq!(UCS_PTR_STATUS(pointer), UCS_INPROGRESS);
        let last = std::ptr::without_provenance_mut(UCS_ERR_LAST as isize as usize - 1);
        assert!(UCS_PTR_IS_PTR(last) && !UCS_PTR_IS_ERR(last));
    }

    #[test]
    fn a_contiguous_type_holds_its_size() {
        assert_eq!(ucp_dt_make_contig(1), 8);
        assert_eq!(ucp_dt_make_contig(4), 32);
        assert_eq!(ucp_dt_make_contig(8), 64);
    }
}
