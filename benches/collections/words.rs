//! A `Map`: batches beside a loop of single calls.

use oxshmem::collections::Map;

use crate::{Bench, BenchResult, random};

/// Keys in the map.
const KEYS: usize = 100_000;

pub(crate) async fn words(bench: &Bench<'_>) -> BenchResult {
    let Bench { world, work, .. } = *bench;
    let map = Map::<u64, u64>::new(world, KEYS).await?;
    let first = world.my_pe() * work;
    let keys: Vec<_> = (first..first + work).map(|i| (random(i) % KEYS) as u64).collect();
    let add_all = async || Ok(map.add_all(keys.iter().map(|&key| (key, 1))).await?);
    let add = async || {
        for &key in &keys {
            map.add(key, 1).await?;
        }
        Ok(())
    };
    bench.compare("Map::add_all, a loop", add_all, add).await?;
    let check = |found: usize| if found == work { Ok(()) } else { Err("a key was not found".into()) };
    let get_all = async || check(map.get_all(keys.iter().copied()).await?.into_iter().flatten().count());
    let get = async || {
        let mut found = 0;
        for &key in &keys {
            found += usize::from(map.get(key).await?.is_some());
        }
        check(found)
    };
    bench.compare("Map::get_all, a loop", get_all, get).await?;
    let insert_all = async || Ok(map.insert_all(keys.iter().map(|&key| (key, key))).await?);
    let insert = async || {
        for &key in &keys {
            map.insert(key, key).await?;
        }
        Ok(())
    };
    bench.compare("Map::insert_all, a loop", insert_all, insert).await
}
