//! A `Channel` beside puts with signals.

use futures::{SinkExt, StreamExt};
use oxshmem::{Cmp, Signal, Wait, collections::Channel};

use crate::{Bench, BenchResult};

/// Messages of 8 bytes there and back between PE 0 and the last one: what one of them takes.
pub(crate) async fn ping_pong(bench: &Bench<'_>) -> BenchResult {
    let Bench { world, work, .. } = *bench;
    let (me, last) = (world.my_pe(), world.n_pes() - 1);
    let other = if me == 0 { last } else { 0 };
    let (there, at_last) = Channel::to::<u64>(world, last, 16).await?;
    let (back, at_first) = Channel::to::<u64>(world, 0, 16).await?;
    let sender = if me == 0 { there } else { back };
    let mut receiver = if me == 0 { at_first } else { at_last };
    let by_channel = async || {
        let Some(receiver) = receiver.as_mut() else { return Ok(()) };
        for number in 0..work as u64 / 2 {
            if me == 0 {
                sender.send(number).await?;
            }
            if receiver.next().await.transpose()? != Some(number) {
                return Err("another message".into());
            }
            if me != 0 {
                sender.send(number).await?;
            }
        }
        Ok(())
    };
    let words = world.alloc_zeroed::<u64>(64).await?;
    let (word, signal) = (words.slice(..1), words.at(32));
    let ctx = world.context();
    let mut number = 0;
    let by_signal = async || {
        if me != 0 && me != last {
            return Ok(());
        }
        for _ in 0..work / 2 {
            number += 1;
            if me == 0 {
                ctx.put_signal(word, [number], signal, Signal::Set(number), other).await?;
            }
            signal.wait_until(Cmp::Ge, number).await?;
            if word.at(0).load() != number {
                return Err("another word".into());
            }
            if me != 0 {
                ctx.put_signal(word, [number], signal, Signal::Set(number), other).await?;
            }
        }
        Ok(())
    };
    bench.compare("message there, put with signal", by_channel, by_signal).await
}

/// Messages of 8 bytes from PE 0 to the last one, many at a time, beside blocks of as many bytes.
pub(crate) async fn stream(bench: &Bench<'_>) -> BenchResult {
    const BLOCK: usize = 1024;
    let Bench { world, work, .. } = *bench;
    let (me, last) = (world.my_pe(), world.n_pes() - 1);
    let (mut sender, mut receiver) = Channel::to::<u64>(world, last, 4 * BLOCK).await?;
    let by_channel = async || {
        if me == 0 {
            for number in 0..work as u64 {
                sender.feed(number).await?;
            }
            sender.flush().await?;
        }
        let Some(receiver) = receiver.as_mut() else { return Ok(()) };
        for number in 0..work as u64 {
            if receiver.next().await.transpose()? != Some(number) {
                return Err("another message".into());
            }
        }
        Ok(())
    };
    let words = world.alloc_zeroed::<u64>(BLOCK + 64).await?;
    let (there, signals) = (words.slice(..BLOCK), words.slice(BLOCK..));
    let (full, empty) = (signals.at(0), signals.at(32));
    let ctx = world.context();
    let mut blocks = 0;
    let by_block = async || {
        let mut block = vec![0; BLOCK];
        for at in (0..work as u64).step_by(BLOCK) {
            let numbers = at..at + BLOCK as u64;
            if me == 0 {
                block.clear();
                block.extend(numbers.clone());
                empty.wait_until(Cmp::Ge, blocks).await?;
                block = ctx.put_signal(there, block, full, Signal::Add(1), last).await?;
            }
            blocks += 1;
            if me == last {
                full.wait_until(Cmp::Ge, blocks).await?;
                if !there.to_vec().into_iter().eq(numbers) {
                    return Err("other words".into());
                }
                ctx.signal_add(empty, 1, 0).await?;
            }
        }
        Ok(())
    };
    bench.compare("stream of messages, of blocks", by_channel, by_block).await
}
