//! Splits: new teams of some PEs of another (`OpenSHMEM 1.6 §9.4.6`, §9.4.7).
//!
//! The PEs of the parent agree on the arguments, and on a place for the new team's scratch memory
//! that is free on all of them. The PEs of the new team take the place, and clear it before any PE
//! sends to it. Should a split of another team have been quicker with it on one of them, they agree
//! on another.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_ops::Members;
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::window::Window;

use crate::{
    group::Group,
    memory::scratch::TEAMS,
    queue::{Core, Outcome, registry::Registry},
    team::{
        Team, TeamConfig,
        agree::{Arguments, Votes, agree, agree_with},
    },
};

impl Team {
    /// The PEs `start`, `start + stride`, … of this team as a new one: `size` of them, in this
    /// order. Collective over this team; PEs that are not among them get none (`OpenSHMEM 1.6
    /// §9.4.6`).
    ///
    /// # Errors
    /// On all PEs of this team alike: [`Error::InvalidTriplet`], [`Error::CollectiveMismatch`] if
    /// they call it with different arguments, and [`Error::TeamsExhausted`]; and those of
    /// [`sync`](Self::sync).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(7, |world| async move {
    /// let threes = world.team().split_strided(6, -3, 3).await?; // PEs 6, 3 and 0
    /// let expected = [Some(2), None, None, Some(1), None, None, Some(0)];
    /// assert_eq!(threes.map(|team| team.my_pe()), expected[world.my_pe()]);
    ///
    /// assert!(world.team().split_strided(6, 3, 3).await.is_err()); // there are no PEs 9 and 12
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn split_strided(
        &self,
        start: usize,
        stride: isize,
        size: usize,
    ) -> impl Future<Output = Result<Option<Self>>> + Send + use<> {
        self.split_strided_with(start, stride, size, TeamConfig::default())
    }

    /// [`split_strided`](Self::split_strided), with what the team is for.
    ///
    /// # Errors
    /// The errors of `split_strided`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let config = TeamConfig { num_contexts: 1 };
    /// let pair = world.team().split_strided_with(0, 1, 2, config).await?.expect("both PEs are in it");
    /// assert_eq!(pair.config(), config);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn split_strided_with(
        &self,
        start: usize,
        stride: isize,
        size: usize,
        config: TeamConfig,
    ) -> impl Future<Output = Result<Option<Self>>> + Send + use<> {
        let words = [STRIDED, start as u64, stride as u64, size as u64];
        let activity = Activity::new(Call::TeamSplit).split(start, stride, size);
        let n_pes = self.n_pes();
        let last = size.checked_sub(1).and_then(|last| isize::try_from(last).ok());
        let last = last.and_then(|last| start.checked_add_signed(last.checked_mul(stride)?));
        let valid = start < n_pes && last.is_some_and(|last| last < n_pes) && (stride != 0 || size == 1);
        let member = valid.then(|| self.core().group.team().strided(start, stride, size));
        let call = name(words);
        let invalid = move || Error::InvalidTriplet { call, start, stride, size, n_pes };
        let made = self.split(words, activity, [member.map(|team| (team, config))], invalid);
        async move { made.await.map(|[team]| team) }
    }

    /// Two teams for each PE, from its place in a plane: those in its row, `xrange` PEs of this
    /// team in succession, and those in its column. The last row may be shorter. Collective over
    /// this team (`OpenSHMEM 1.6 §9.4.7`).
    ///
    /// # Errors
    /// On all PEs of this team alike: [`Error::InvalidRange`] if `xrange` is 0, and those of
    /// [`split_strided`](Self::split_strided).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(8, |world| async move {
    /// let (row, column) = world.team().split_2d(3).await?;
    /// // 0 1 2
    /// // 3 4 5
    /// // 6 7
    /// assert_eq!((row.my_pe(), column.my_pe()), (world.my_pe() % 3, world.my_pe() / 3));
    /// assert_eq!(row.n_pes(), if world.my_pe() < 6 { 3 } else { 2 });
    /// assert_eq!(column.n_pes(), if row.my_pe() < 2 { 3 } else { 2 });
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn split_2d(&self, xrange: usize) -> impl Future<Output = Result<(Self, Self)>> + Send + use<> {
        self.split_2d_with(xrange, TeamConfig::default(), TeamConfig::default())
    }

    /// [`split_2d`](Self::split_2d), with what the teams are for.
    ///
    /// # Errors
    /// The errors of `split_2d`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(4, |world| async move {
    /// let config = TeamConfig { num_contexts: 1 };
    /// let (row, column) = world.team().split_2d_with(2, config, TeamConfig::default()).await?;
    /// assert_eq!((row.config(), column.config().num_contexts), (config, 0));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn split_2d_with(
        &self,
        xrange: usize,
        x_config: TeamConfig,
        y_config: TeamConfig,
    ) -> impl Future<Output = Result<(Self, Self)>> + Send + use<> {
        let (me, n) = (self.my_pe(), self.n_pes());
        let members = (xrange > 0).then(|| {
            let xrange = xrange.min(n);
            let (x, y) = (me % xrange, me / xrange);
            let parent = self.core().group.team();
            let row = parent.strided(y * xrange, 1, xrange.min(n - y * xrange));
            (row, parent.strided(x, xrange as isize, (n - x).div_ceil(xrange)))
        });
        let (row, column) = members.unzip();
        let teams = [row.map(|row| (row, x_config)), column.map(|column| (column, y_config))];
        let words = [PLANE, xrange as u64, 0, 0];
        let (call, activity) = (name(words), Activity::new(Call::TeamSplit));
        let made = self.split(words, activity, teams, move || Error::InvalidRange { call });
        async move {
            match made.await? {
                [Some(row), Some(column)] => Ok((row, column)),
                // Every PE is in a row and in a column.
                _ => Err(Error::InvalidRange { call }),
            }
        }
    }

    /// Makes `teams` of some PEs of this one. Those that this PE is not in have none. `invalid` is
    /// the error if the arguments, in `words`, name no team at all.
    fn split<const N: usize>(
        &self,
        words: Arguments,
        activity: Activity,
        teams: [Option<(Members, TeamConfig)>; N],
        invalid: impl Fn() -> Error + Send + 'static,
    ) -> Outcome<[Option<Self>; N]> {
        let (call, registry) = (name(words), Arc::clone(&self.core().registry));
        self.core().run(call, activity, move |group| async move {
            let mut attempt = 0;
            loop {
                // A PE that comes to be in none of the teams needs no place for it.
                let free = if is_in_one(&group, &teams) { registry.free() } else { [u64::MAX; TEAMS / 64] };
                let votes = Votes { yes: 0, window: Window::of_bits(free) };
                let verdict = agree_with(&group, words, votes, registry.next_number()).await?;
                let number = verdict.most;
                registry.has_number(number);
                if let Some([(pe_a, a), (pe_b, b)]) = verdict.differing {
                    return Err(Error::CollectiveMismatch {
                        pe_a,
                        call_a: describe(a),
                        pe_b,
                        call_b: describe(b),
                    });
                }
                if teams.iter().any(Option::is_none) {
                    return Err(invalid());
                }
                let places: Option<Vec<usize>> = some(&verdict.votes.window, N, attempt);
                let Some(places) = places else { return Err(Error::TeamsExhausted { call, limit: TEAMS }) };
                let taken = take(&group, &registry, &teams, &places, number);
                // Before any PE sends to another, that one has cleared the place.
                let verdict = agree(&group, words, Votes::answer(u64::from(taken.is_some()))).await?;
                match taken {
                    // Teams from here on: if they are not taken, they leave like any that is
                    // dropped.
                    Some(made) if verdict.votes.yes != 0 => return Ok(made.map(|core| core.map(Self::new))),
                    Some(made) => made.iter().flatten().for_each(|core| registry.give_back(core.place)),
                    None => {}
                }
                attempt += 1;
            }
        })
    }
}

/// Makes those teams that this PE is in at their places; none at all if one of these has been taken
/// meanwhile.
fn take<const N: usize>(
    group: &Group,
    registry: &Arc<Registry>,
    teams: &[Option<(Members, TeamConfig)>; N],
    places: &[usize],
    number: u64,
) -> Option<[Option<Arc<Core>>; N]> {
    let pe = group.pe();
    let mut made = [const { None }; N];
    for ((made, &place), team) in made.iter_mut().zip(places).zip(teams.iter().flatten()) {
        *made = registry.make(pe, team, place, number, group.made_in);
    }
    let wanted = |team: &Option<(Members, TeamConfig)>| {
        team.as_ref().is_some_and(|(members, _)| members.pe_of(pe.me()).is_some())
    };
    if made.iter().zip(teams).all(|(made, team)| made.is_some() == wanted(team)) {
        return Some(made);
    }
    made.iter().flatten().for_each(|core| registry.give_back(core.place));
    None
}

/// Whether this PE comes to be in one of the teams.
fn is_in_one<const N: usize>(group: &Group, teams: &[Option<(Members, TeamConfig)>; N]) -> bool {
    let me = group.pe().me();
    teams.iter().flatten().any(|(members, _)| members.pe_of(me).is_some())
}

/// The names of calls, and the numbers that they travel by.
const SPLIT_STRIDED: &str = "split_strided";
const SPLIT_2D: &str = "split_2d";
const STRIDED: u64 = 1 << 32;
const PLANE: u64 = 2 << 32;

/// The name of the call with these arguments.
fn name(words: Arguments) -> &'static str {
    if words[0] == PLANE { SPLIT_2D } else { SPLIT_STRIDED }
}

/// A split, for people.
fn describe(words: Arguments) -> String {
    let (name, [kind, a, b, c]) = (name(words), words);
    match kind {
        STRIDED => format!("{name} with start {a}, stride {} and size {c}", b as i64),
        PLANE => format!("{name} with xrange {a}"),
        _ => "another call".to_owned(),
    }
}

/// `n` places that all PEs have voted for: the lowest ones at the first attempt, and others at
/// later ones, as another split may be after the same places again.
fn some(free: &Window, n: usize, attempt: usize) -> Option<Vec<usize>> {
    let starts = free.count().checked_sub(n)? + 1;
    let start = attempt * n % starts;
    Some(free.numbers().skip(start).take(n).map(|place| place as usize).collect())
}
