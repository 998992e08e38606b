//! Groups of routines, their forms, and the routines that these expand to.

use crate::types::{SIZES, Type};

/// What one section of the specification describes.
#[derive(Debug)]
pub struct Group {
    /// What it is called, and its man page: the generic form's name where there is one.
    pub name: &'static str,
    /// The section of OpenSHMEM 1.6, or of the extension, that describes it.
    pub section: &'static str,
    /// What it does, as half a sentence without a full stop.
    pub brief: &'static str,
    /// What a caller has to know beyond that.
    pub text: &'static str,
    /// Its prototypes.
    pub forms: &'static [Form],
    /// Parameters that are something else here than [`arguments`](crate::arguments) says in
    /// general.
    pub arguments: &'static [crate::arguments::Argument],
    /// What holds when a call returns, and what completes the rest.
    pub completion: &'static str,
    /// What it returns, errors included.
    pub returns: &'static str,
    /// Its form in Rust. Nothing where there is none: a gap.
    pub rust: Option<&'static str>,
    /// The names of related groups.
    pub see: &'static [&'static str],
}

/// What a form of a group is expanded over.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// Nothing: it is one routine.
    Once,
    /// One routine for each of these types: TYPE and TYPENAME stand for them.
    Types(&'static [Type]),
    /// One routine for each of these sizes in bits, which SIZE stands for.
    Sizes(&'static [u32]),
}

/// Whether programs should use a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// They may.
    Current,
    /// Old programs do.
    Deprecated {
        /// The version that deprecated it.
        since: &'static str,
        /// What new programs use.
        instead: &'static str,
    },
    /// No specification has it, but other libraries do, and so their programs.
    Elsewhere,
    /// It belongs to the memory-spaces proposal, and is in `shmem.h` with the rest.
    Spaces,
    /// It belongs to the memory-kinds proposal, or asks about spaces, and is in `shmemx.h`.
    Kinds,
}

/// A prototype as the specification prints it, with TYPE, TYPENAME and SIZE to be filled in.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The routine's name, such as `shmem_TYPENAME_put`.
    pub name: &'static str,
    /// The type that it returns, such as `TYPE`.
    pub returns: &'static str,
    /// Its parameters, such as `TYPE *dest, int pe`. A `ctx` form has one more before these.
    pub parameters: &'static str,
    /// What it is expanded over.
    pub over: Over,
    /// Whether there is a `shmem_ctx_` form too.
    pub ctx: bool,
    /// The name of the C11 generic and of the C++ overloads that serve it.
    pub generic: Option<&'static str>,
    /// Further types that the generic form takes, as other libraries do, and the routines that
    /// serve them.
    pub also: Option<(&'static [Type], &'static str)>,
    /// Whether programs should use it.
    pub status: Status,
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its C type, such as `const long *`. `...` where any more may follow.
    pub c: String,
    /// Its name. Empty where any more may follow.
    pub name: &'static str,
}

/// One symbol of the library.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The symbol.
    pub name: String,
    /// The C type that it returns.
    pub returns: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The type that it is for, if it is one of several.
    pub element: Option<Type>,
    /// The element size in bits that it is for, if it is one of several.
    pub bits: Option<u32>,
    /// Whether its first parameter is a context.
    pub ctx: bool,
    /// The form that it was expanded from.
    pub form: &'static Form,
    /// The group that this form belongs to.
    pub group: &'static Group,
}

impl Form {
    /// One routine.
    pub(crate) const fn once(name: &'static str, returns: &'static str, parameters: &'static str) -> Self {
        let (over, status) = (Over::Once, Status::Current);
        Self { name, returns, parameters, over, ctx: false, generic: None, also: None, status }
    }

    /// A routine for each type.
    pub(crate) const fn typed(
        types: &'static [Type],
        name: &'static str,
        returns: &'static str,
        parameters: &'static str,
    ) -> Self {
        Self { over: Over::Types(types), ..Self::once(name, returns, parameters) }
    }

    /// A routine for each size of elements.
    pub(crate) const fn sized(name: &'static str, returns: &'static str, parameters: &'static str) -> Self {
        Self { over: Over::Sizes(&SIZES), ..Self::once(name, returns, parameters) }
    }

    /// A routine for 32-bit elements and one for 64-bit ones: collectives on active sets.
    pub(crate) const fn words(name: &'static str, parameters: &'static str) -> Self {
        Self { over: Over::Sizes(&[32, 64]), ..Self::once(name, "void", parameters) }
    }

    /// With a context as well.
    pub(crate) const fn ctx(self) -> Self {
        Self { ctx: true, ..self }
    }

    /// With a generic form.
    pub(crate) const fn generic(self, name: &'static str) -> Self {
        Self { generic: Some(name), ..self }
    }

    /// With a generic form that takes more types, by routines of this name.
    pub(crate) const fn also(self, types: &'static [Type], name: &'static str) -> Self {
        Self { also: Some((types, name)), ..self }
    }

    /// Deprecated.
    pub(crate) const fn deprecated(self, since: &'static str, instead: &'static str) -> Self {
        Self { status: Status::Deprecated { since, instead }, ..self }
    }

    /// Of another status.
    pub(crate) const fn status(self, status: Status) -> Self {
        Self { status, ..self }
    }

    /// Whether it is deprecated.
    pub fn is_deprecated(&self) -> bool {
        matches!(self.status, Status::Deprecated { .. })
    }

    /// The name of its `ctx` form, with TYPENAME and SIZE as they are.
    pub fn ctx_name(&self) -> String {
        self.name.replacen("shmem_", "shmem_ctx_", 1)
    }
}

impl Group {
    /// The routines of this group: for each form, first all without a context, then all with one.
    ///
    /// ```
    /// let fence = oxshmem_capi_table::groups().find(|group| group.name == "shmem_fence").unwrap();
    /// let names: Vec<_> = fence.routines().map(|routine| routine.name).collect();
    /// assert_eq!(names, ["shmem_fence", "shmem_ctx_fence"]);
    /// ```
    pub fn routines(&'static self) -> impl Iterator<Item = Routine> {
        self.forms.iter().flat_map(move |form| {
            let contexts = if form.ctx { &[false, true][..] } else { &[false] };
            contexts.iter().flat_map(move |&ctx| {
                let instances: Vec<(Option<Type>, Option<u32>)> = match form.over {
                    Over::Once => vec![(None, None)],
                    Over::Types(types) => types.iter().map(|it| (Some(*it), None)).collect(),
                    Over::Sizes(sizes) => sizes.iter().map(|it| (None, Some(*it))).collect(),
                };
                instances.into_iter().map(move |(element, bits)| Routine::new(self, form, ctx, element, bits))
            })
        })
    }

    /// What is known of a parameter of this group.
    pub fn argument(&self, name: &str) -> &'static crate::arguments::Argument {
        let own = self.arguments.iter().chain(crate::arguments::ARGUMENTS).find(|it| it.name == name);
        own.unwrap_or_else(|| panic!("{}: {name} is described nowhere", self.name))
    }

    /// The chapter of its section: `9.6` of `9.6.1.1`.
    pub fn chapter(&self) -> &'static str {
        let end = self.section.match_indices('.').nth(1).map_or(self.section.len(), |(at, _)| at);
        if self.section.starts_with("10") { "10" } else { &self.section[..end] }
    }

    /// Whether all its forms are deprecated.
    pub fn is_deprecated(&self) -> bool {
        self.forms.iter().all(Form::is_deprecated)
    }
}

impl Routine {
    fn new(
        group: &'static Group,
        form: &'static Form,
        ctx: bool,
        element: Option<Type>,
        bits: Option<u32>,
    ) -> Self {
        let mut name = if ctx { form.ctx_name() } else { form.name.to_owned() };
        let mut returns = form.returns.to_owned();
        let mut parameters = parse(form.parameters);
        if let Some(element) = element {
            name = name.replace("TYPENAME", element.name);
            returns = returns.replace("TYPE", element.c);
            for parameter in &mut parameters {
                parameter.c = parameter.c.replace("TYPE", element.c);
            }
        }
        if let Some(bits) = bits {
            name = name.replace("SIZE", &bits.to_string());
        }
        if ctx {
            parameters.insert(0, Parameter { c: "shmem_ctx_t".into(), name: "ctx" });
        }
        Self { name, returns, parameters, element, bits, ctx, form, group }
    }

    /// The name of its twin in the profiling interface (`OpenSHMEM 1.6 §10`), if it has one.
    ///
    /// ```
    /// let twin = |name| oxshmem_capi_table::routine(name).unwrap().profiling_name();
    /// assert_eq!(twin("shmem_quiet").as_deref(), Some("pshmem_quiet"));
    /// assert_eq!(twin("start_pes"), None);
    /// ```
    pub fn profiling_name(&self) -> Option<String> {
        let twin = self.name.starts_with("shmem") && self.form.status != Status::Kinds;
        twin.then(|| format!("p{}", self.name))
    }

    /// Its parameters as C writes them.
    pub fn parameter_list(&self) -> String {
        if self.parameters.is_empty() {
            return "void".into();
        }
        self.parameters.iter().map(Parameter::declaration).collect::<Vec<_>>().join(", ")
    }

    /// Its declaration, without a semicolon.
    pub fn prototype(&self) -> String {
        format!("{}({})", join(&self.returns, &self.name), self.parameter_list())
    }

    /// Whether it never returns.
    pub fn is_noreturn(&self) -> bool {
        self.name == "shmem_global_exit"
    }
}

impl Parameter {
    /// As a prototype has it.
    pub fn declaration(&self) -> String {
        join(&self.c, self.name)
    }
}

/// A type and the name that it declares.
pub(crate) fn join(c: &str, name: &str) -> String {
    let space = if c.ends_with('*') || name.is_empty() { "" } else { " " };
    format!("{c}{space}{name}")
}

/// Parameters as the specification writes them.
pub(crate) fn parse(parameters: &'static str) -> Vec<Parameter> {
    if parameters == "void" {
        return Vec::new();
    }
    let split = |declaration: &'static str| {
        let end = declaration.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
        Parameter { c: declaration[..end].trim_end().to_owned(), name: &declaration[end..] }
    };
    parameters.split(", ").map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_split_into_type_and_name() {
        let parsed = parse("const TYPE *source, int pe, ...");
        let found: Vec<_> = parsed.iter().map(|it| (it.c.as_str(), it.name)).collect();
        assert_eq!(found, [("const TYPE *", "source"), ("int", "pe"), ("...", "")]);
        assert!(parse("void").is_empty());
    }
}
