//! Contexts (§9.5) and sessions (§9.9).

use super::BASE;
use crate::{
    arguments::{CTX_RESULT, TEAM_RESULT},
    model::{Form, Group},
};

const MADE: &str = "Zero; nonzero, and SHMEM_CTX_INVALID for ctx, if it could not be made. That is no error, \
                    and may be tried again.";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_ctx_create",
        section: "9.5.1",
        brief: "makes a context on the world team",
        text: "A context orders and completes its operations apart from all others. Options restrict how it \
               is used: SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE.",
        forms: &[Form::once("shmem_ctx_create", "int", "long options, shmem_ctx_t *ctx")],
        arguments: CTX_RESULT,
        returns: MADE,
        rust: Some("World::create_context"),
        see: &["shmem_team_create_ctx", "shmem_ctx_destroy", "shmem_ctx_get_team"],
        ..BASE
    },
    Group {
        name: "shmem_team_create_ctx",
        section: "9.5.2",
        brief: "makes a context on a team",
        text: "Its operations take PE numbers of the team. It must be destroyed before the team is.",
        forms: &[Form::once(
            "shmem_team_create_ctx",
            "int",
            "shmem_team_t team, long options, shmem_ctx_t *ctx",
        )],
        arguments: CTX_RESULT,
        returns: "Zero; nonzero, and SHMEM_CTX_INVALID for ctx, if it could not be made or team is \
                  SHMEM_TEAM_INVALID. That is no error, and may be tried again.",
        rust: Some("Team::create_context"),
        see: &["shmem_ctx_create", "shmem_ctx_destroy"],
        ..BASE
    },
    Group {
        name: "shmem_ctx_destroy",
        section: "9.5.3",
        brief: "destroys a context",
        text: "One with SHMEM_CTX_PRIVATE is destroyed by the thread that made it. SHMEM_CTX_INVALID does \
               nothing.",
        forms: &[Form::once("shmem_ctx_destroy", "void", "shmem_ctx_t ctx")],
        completion: "Remote: a quiet on the context comes first.",
        rust: Some("Context::destroy"),
        see: &["shmem_ctx_create", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_ctx_get_team",
        section: "9.5.4",
        brief: "gives the team of a context",
        text: "That of the default context, and of those of shmem_ctx_create, is SHMEM_TEAM_WORLD.",
        forms: &[Form::once("shmem_ctx_get_team", "int", "shmem_ctx_t ctx, shmem_team_t *team")],
        arguments: TEAM_RESULT,
        returns: "Zero; nonzero, and SHMEM_TEAM_INVALID for team, if ctx is SHMEM_CTX_INVALID.",
        rust: Some("InTeam::team"),
        see: &["shmem_ctx_create", "shmem_team_create_ctx"],
        ..BASE
    },
    Group {
        name: "shmem_ctx_session_start",
        section: "9.9.2",
        brief: "announces a series of operations on a context",
        text: "A session is a hint: no operation means anything else in it. Another start on the same \
               context adds options and replaces what config_mask names. SHMEM_CTX_INVALID does nothing.",
        forms: &[Form::once(
            "shmem_ctx_session_start",
            "void",
            "shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask",
        )],
        rust: Some("Context::session_start"),
        see: &["shmem_ctx_session_stop", "shmem_ctx_create"],
        ..BASE
    },
    Group {
        name: "shmem_ctx_session_stop",
        section: "9.9.3",
        brief: "ends a session on a context",
        text: "Without a session it does nothing.",
        forms: &[Form::once("shmem_ctx_session_stop", "void", "shmem_ctx_t ctx")],
        completion: "At once. It is no quiet: operations of the session may still be under way.",
        rust: Some("Context::session_stop"),
        see: &["shmem_ctx_session_start", "shmem_quiet"],
        ..BASE
    },
];
