//! What other build systems read: pkg-config's file and CMake's. Both find the rest from where they
//! are themselves.

/// What `libshmem.a` needs, as `rustc --print native-static-libs` says.
const SYSTEM: [&str; 7] = ["gcc_s", "util", "rt", "pthread", "m", "dl", "c"];

/// Each file's place under the prefix, and its text.
pub(super) fn files() -> [(&'static str, String); 3] {
    [
        ("lib/pkgconfig/oxshmem.pc", pkg_config()),
        ("lib/cmake/oxshmem/oxshmem-config.cmake", cmake()),
        ("lib/cmake/oxshmem/oxshmem-config-version.cmake", cmake_version()),
    ]
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn pkg_config() -> String {
    let system: Vec<_> = SYSTEM.iter().map(|name| format!("-l{name}")).collect();
    format!(
        r#"prefix=${{pcfiledir}}/../..
includedir=${{prefix}}/include
libdir=${{prefix}}/lib

Name: oxshmem
Description: OpenSHMEM 1.6
Version: {VERSION}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lshmem
Libs.private: {}
"#,
        system.join(" ")
    )
}

fn cmake() -> String {
    format!(
        r#"# OpenSHMEM 1.6: the targets oxshmem::shmem and oxshmem::shmem_static, and the launcher as oxshmem_OSHRUN.
get_filename_component(oxshmem_PREFIX "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
set(oxshmem_OSHRUN "${{oxshmem_PREFIX}}/bin/oshrun")

if(NOT TARGET oxshmem::shmem)
  add_library(oxshmem::shmem SHARED IMPORTED)
  set_target_properties(oxshmem::shmem PROPERTIES
    IMPORTED_LOCATION "${{oxshmem_PREFIX}}/lib/libshmem.so"
    IMPORTED_SONAME libshmem.so
    INTERFACE_INCLUDE_DIRECTORIES "${{oxshmem_PREFIX}}/include")

  add_library(oxshmem::shmem_static STATIC IMPORTED)
  set_target_properties(oxshmem::shmem_static PROPERTIES
    IMPORTED_LOCATION "${{oxshmem_PREFIX}}/lib/libshmem.a"
    INTERFACE_INCLUDE_DIRECTORIES "${{oxshmem_PREFIX}}/include"
    INTERFACE_LINK_LIBRARIES "{}")
endif()
"#,
        SYSTEM.join(";")
    )
}

fn cmake_version() -> String {
    let (major, _) = VERSION.split_once('.').unwrap_or((VERSION, ""));
    format!(
        r#"set(PACKAGE_VERSION {VERSION})
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT PACKAGE_FIND_VERSION_MAJOR STREQUAL "{major}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"#
    )
}
