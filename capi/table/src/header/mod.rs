//! The headers, as the library's users include them.
//!
//! `shmem.h` has the prototypes, which C and C++ share, and then what stands for the generic forms:
//! in C11 macros with `_Generic`, in C++ overloads. `pshmem.h` adds the profiling twins, `shmemx.h`
//! the extensions. What only the headers themselves need is called `shmem_impl_` or `SHMEM_IMPL_`.

mod cxx;
mod generic;
mod plain;

use crate::{
    model::{Form, Over, Routine},
    types::{Type, distinct},
};

/// Every header: its path in the folder of headers, and its text.
///
/// ```
/// let paths: Vec<_> = oxshmem_capi_table::headers().into_iter().map(|(path, _)| path).collect();
/// assert_eq!(paths, ["shmem.h", "shmemx.h", "pshmem.h", "mpp/shmem.h", "mpp/shmemx.h"]);
/// ```
pub fn headers() -> Vec<(&'static str, String)> {
    vec![
        ("shmem.h", format!("{}{}{}{}", plain::head(), generic::c11(), cxx::overloads(), plain::foot())),
        ("shmemx.h", plain::shmemx()),
        ("pshmem.h", plain::pshmem()),
        ("mpp/shmem.h", plain::forward("shmem.h")),
        ("mpp/shmemx.h", plain::forward("shmemx.h")),
    ]
}

/// A generic form: the routines that one name stands for, chosen by the type of an argument.
#[derive(Clone, Debug)]
pub struct Generic {
    /// Its name.
    pub name: &'static str,
    /// The forms that it chooses from.
    pub forms: Vec<&'static Form>,
    /// What to take for each type of element, with the context's form where there is one.
    pub choices: Vec<Choice>,
}

/// One of the routines that a generic form stands for.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The type of element that it is taken for.
    pub element: Type,
    /// The routine without a context.
    pub routine: Routine,
    /// The routine with one.
    pub with_ctx: Option<Routine>,
}

impl Generic {
    /// How many parameters precede the one whose type decides, a context not counted: a team's
    /// handle may.
    pub fn position(&self) -> usize {
        usize::from(self.forms[0].parameters.starts_with("shmem_team_t"))
    }

    /// Whether the argument that decides may point to constant objects.
    pub fn takes_const(&self) -> bool {
        let decides = self.forms[0].parameters.split(", ").nth(self.position());
        decides.is_some_and(|parameter| parameter.starts_with("const "))
    }
}

/// The generic forms that choose by the type of elements, by name in the order of the
/// specification. `shmem_sync`, `shmem_signal_add` and `shmem_signal_set` choose by the handle in
/// front instead, and are not among them.
///
/// ```
/// let generics = oxshmem_capi_table::header::generics();
/// let wait = generics.iter().find(|generic| generic.name == "shmem_wait_until").unwrap();
/// assert_eq!((wait.position(), wait.takes_const(), wait.choices.len()), (0, false, 8));
/// ```
pub fn generics() -> Vec<Generic> {
    let mut found: Vec<Generic> = Vec::new();
    for group in crate::groups() {
        let routines: Vec<Routine> = group.routines().collect();
        for form in group.forms {
            let (Some(name), Over::Types(types)) = (form.generic, form.over) else { continue };
            let of = |element, ctx| {
                let mut routines = routines.iter().filter(|it| std::ptr::eq(it.form, form));
                routines.find(|it| it.element == Some(element) && it.ctx == ctx).cloned()
            };
            let choice =
                |element| Some(Choice { element, routine: of(element, false)?, with_ctx: of(element, true) });
            let (also, instead) = form.also.unwrap_or_default();
            let is_new = |it: &Type| types.iter().all(|own| own.standard_name() != it.standard_name());
            let further = distinct(also).filter(is_new).filter_map(|element| {
                let routine = crate::routine(&instead.replace("TYPENAME", element.name))?;
                Some(Choice { element, routine, with_ctx: None })
            });
            let choices = distinct(types).filter_map(choice).chain(further);
            match found.iter_mut().find(|generic| generic.name == name) {
                Some(generic) => {
                    generic.choices.extend(choices);
                    generic.forms.push(form);
                }
                None => found.push(Generic { name, forms: vec![form], choices: choices.collect() }),
            }
        }
    }
    found
}

/// The routines that share the name of a generic form, which a C11 macro therefore hides from a
/// definition.
pub(crate) fn shared_names() -> [&'static str; 4] {
    ["shmem_sync", "shmem_wait_until", "shmem_signal_add", "shmem_signal_set"]
}

/// Text in lines of at most a width, each after the first with an indentation.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > width {
            out += "\n";
            out += indent;
            column = indent.len();
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.len();
    }
    out
}
