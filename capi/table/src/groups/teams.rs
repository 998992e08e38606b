//! Team management (§9.4).

use super::BASE;
use crate::{
    arguments::CONFIG_RESULT,
    model::{Form, Group},
};

const SPLIT: &str = "Collective on the parent team: blocks until the new teams are made.";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_team_my_pe",
        section: "9.4.1",
        brief: "gives the number of this PE in a team",
        forms: &[Form::once("shmem_team_my_pe", "int", "shmem_team_t team")],
        returns: "The number, or -1 if team is SHMEM_TEAM_INVALID.",
        rust: Some("Team::my_pe"),
        see: &["shmem_team_n_pes", "shmem_team_translate_pe"],
        ..BASE
    },
    Group {
        name: "shmem_team_n_pes",
        section: "9.4.2",
        brief: "gives how many PEs a team has",
        forms: &[Form::once("shmem_team_n_pes", "int", "shmem_team_t team")],
        returns: "The number of PEs, or -1 if team is SHMEM_TEAM_INVALID.",
        rust: Some("Team::n_pes"),
        see: &["shmem_team_my_pe"],
        ..BASE
    },
    Group {
        name: "shmem_team_get_config",
        section: "9.4.4",
        brief: "gives a team's configuration",
        forms: &[Form::once(
            "shmem_team_get_config",
            "int",
            "shmem_team_t team, long config_mask, shmem_team_config_t *config",
        )],
        arguments: CONFIG_RESULT,
        returns: "Zero, or nonzero if team is SHMEM_TEAM_INVALID.",
        rust: Some("Team::config"),
        see: &["shmem_team_split_strided"],
        ..BASE
    },
    Group {
        name: "shmem_team_translate_pe",
        section: "9.4.5",
        brief: "gives the number that a PE of one team has in another",
        forms: &[Form::once(
            "shmem_team_translate_pe",
            "int",
            "shmem_team_t src_team, int src_pe, shmem_team_t dest_team",
        )],
        returns: "The number, or -1 if the PE is not in both teams or a team is SHMEM_TEAM_INVALID.",
        rust: Some("Team::translate_pe"),
        see: &["shmem_team_my_pe"],
        ..BASE
    },
    Group {
        name: "shmem_team_split_strided",
        section: "9.4.6",
        brief: "makes a team of PEs at a stride in a team",
        text: "The new team has the parent's PEs start, start + stride and so on, size of them, in this \
               order. All PEs of the parent call it with the same three numbers.",
        forms: &[Form::once(
            "shmem_team_split_strided",
            "int",
            "shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config, \
             long config_mask, shmem_team_t *new_team",
        )],
        completion: SPLIT,
        returns: "Zero; nonzero, and SHMEM_TEAM_INVALID for new_team, on all PEs if the team could not be \
                  made, the numbers fit no team, or parent_team is SHMEM_TEAM_INVALID.",
        rust: Some("Team::split_strided_with"),
        see: &["shmem_team_split_2d", "shmem_team_destroy", "shmem_team_get_config"],
        ..BASE
    },
    Group {
        name: "shmem_team_split_2d",
        section: "9.4.7",
        brief: "makes teams of the rows and columns of a team",
        text: "The parent's PEs fill rows of xrange PEs. Each PE becomes a member of its row's team, where \
               its number is its column, and of its column's team, where its number is its row. The last row \
               may be shorter.",
        forms: &[Form::once(
            "shmem_team_split_2d",
            "int",
            "shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask, \
             shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, \
             shmem_team_t *yaxis_team",
        )],
        completion: SPLIT,
        returns: "Zero; nonzero, and SHMEM_TEAM_INVALID for both teams, on all PEs if a team could not be \
                  made, or parent_team is SHMEM_TEAM_INVALID.",
        rust: Some("Team::split_2d_with"),
        see: &["shmem_team_split_strided", "shmem_team_destroy"],
        ..BASE
    },
    Group {
        name: "shmem_team_destroy",
        section: "9.4.8",
        brief: "destroys a team",
        text: "Its shareable contexts go with it; those with SHMEM_CTX_PRIVATE must be destroyed before. A \
               predefined team cannot be destroyed. SHMEM_TEAM_INVALID does nothing.",
        forms: &[Form::once("shmem_team_destroy", "void", "shmem_team_t team")],
        completion: "Collective on the team.",
        rust: Some("Team::destroy"),
        see: &["shmem_team_split_strided", "shmem_ctx_destroy"],
        ..BASE
    },
];
