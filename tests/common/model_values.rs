//! What the model knows of element types and of the arithmetic on them.

use std::fmt::Debug;

use oxshmem::{Arithmetic, Bitwise, Collective, Complex, LongDouble, Ordered, prelude::*};

/// The collectives that have a result, and sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sync,
    Broadcast,
    Collect,
    Fcollect,
    Alltoall,
    Alltoalls,
    And,
    Or,
    Xor,
    Min,
    Max,
    Sum,
    Prod,
    Inscan,
    Exscan,
}

use Kind::*;

impl Kind {
    pub(crate) const ALL: [Self; 15] = [
        Sync, Broadcast, Collect, Fcollect, Alltoall, Alltoalls, And, Or, Xor, Min, Max, Sum, Prod, Inscan,
        Exscan,
    ];

    pub(super) fn may_be_in_place(self) -> bool {
        matches!(self, Broadcast | And | Or | Xor | Min | Max | Sum | Prod | Inscan | Exscan)
    }
}

/// An element type with what the model needs of it.
pub(crate) trait Value: Arithmetic + Debug {
    fn summand(hash: u64) -> Self;
    fn factor(hash: u64) -> Self;
    /// None if the type does not take it.
    fn combine(kind: Kind, a: Self, b: Self) -> Option<Self>;
    fn reduce<'a>(
        kind: Kind,
        team: &'a Team,
        to: SymView<'a, Self>,
        from: SymView<'a, Self>,
    ) -> Collective<'a>;
}

fn sum_or_prod<'a, T: Value>(
    kind: Kind,
    team: &'a Team,
    to: SymView<'a, T>,
    from: SymView<'a, T>,
) -> Collective<'a> {
    match kind {
        Prod => team.prod_reduce(to, from),
        Inscan => team.sum_inscan(to, from),
        Exscan => team.sum_exscan(to, from),
        _ => team.sum_reduce(to, from),
    }
}

fn ordered<'a, T: Value + Ordered>(
    kind: Kind,
    team: &'a Team,
    to: SymView<'a, T>,
    from: SymView<'a, T>,
) -> Collective<'a> {
    match kind {
        Min => team.min_reduce(to, from),
        Max => team.max_reduce(to, from),
        _ => sum_or_prod(kind, team, to, from),
    }
}

fn bitwise<'a, T: Value + Ordered + Bitwise>(
    kind: Kind,
    team: &'a Team,
    to: SymView<'a, T>,
    from: SymView<'a, T>,
) -> Collective<'a> {
    match kind {
        And => team.and_reduce(to, from),
        Or => team.or_reduce(to, from),
        Xor => team.xor_reduce(to, from),
        _ => ordered(kind, team, to, from),
    }
}

macro_rules! integers {
    ($($name:ty)*) => {$(impl Value for $name {
        fn summand(hash: u64) -> Self {
            hash as Self
        }
        fn factor(hash: u64) -> Self {
            hash as Self
        }
        fn combine(kind: Kind, a: Self, b: Self) -> Option<Self> {
            Some(match kind {
                And => a & b,
                Or => a | b,
                Xor => a ^ b,
                Min => a.min(b),
                Max => a.max(b),
                Prod => a.wrapping_mul(b),
                _ => a.wrapping_add(b),
            })
        }
        fn reduce<'a>(kind: Kind, team: &'a Team, to: SymView<'a, Self>, from: SymView<'a, Self>) -> Collective<'a> {
            bitwise(kind, team, to, from)
        }
    })*};
}

macro_rules! reals {
    ($($name:ty: $of:expr;)*) => {$(impl Value for $name {
        fn summand(hash: u64) -> Self {
            $of((hash % 17) as i8 - 8)
        }
        fn factor(hash: u64) -> Self {
            $of([1i8, 2, -1][hash as usize % 3])
        }
        fn combine(kind: Kind, a: Self, b: Self) -> Option<Self> {
            Some(match kind {
                And | Or | Xor => return None,
                Min => if a < b { a } else { b },
                Max => if a > b { a } else { b },
                Prod => a * b,
                _ => a + b,
            })
        }
        fn reduce<'a>(kind: Kind, team: &'a Team, to: SymView<'a, Self>, from: SymView<'a, Self>) -> Collective<'a> {
            ordered(kind, team, to, from)
        }
    })*};
}

macro_rules! complexes {
    ($($name:ty)*) => {$(impl Value for Complex<$name> {
        fn summand(hash: u64) -> Self {
            Self::new(<$name>::summand(hash), <$name>::summand(hash >> 20))
        }
        fn factor(hash: u64) -> Self {
            // Products of these have no part that is 0, whose sign would depend on the order.
            let (one, two) = (<$name>::from(1i8), <$name>::from(2i8));
            [Self::new(one, two), Self::new(two, two + two), Self::new(-one, -two)][hash as usize % 3]
        }
        fn combine(kind: Kind, a: Self, b: Self) -> Option<Self> {
            match kind {
                And | Or | Xor | Min | Max => None,
                Prod => Some(Self::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)),
                _ => Some(a + b),
            }
        }
        fn reduce<'a>(kind: Kind, team: &'a Team, to: SymView<'a, Self>, from: SymView<'a, Self>) -> Collective<'a> {
            sum_or_prod(kind, team, to, from)
        }
    })*};
}

integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }
reals! { f32: f32::from; f64: f64::from; LongDouble: |value: i8| LongDouble::from(f64::from(value)); }
complexes! { f32 f64 }
