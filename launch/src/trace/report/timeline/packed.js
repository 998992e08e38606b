"use strict";
// What the Rust side packed (timeline/mod.rs), and sums of it for columns of pixels.

const KINDS = [["puts and signals", "put"], ["gets", "get"], ["atomic operations", "atomic"], ["waits", "wait"], ["collectives", "collective"]];
const GET = 1, WAIT = 3, COLLECTIVE = 4, COLOURS = KINDS.length;
/** Waits with arrows: the longest, where more are seen. */
const MOST_ARROWS = 300;
/** Calls that are drawn one by one. Where more are seen, their sums are drawn instead. */
const MOST_SPANS = 200000;
/** Calls that have data for a signal that follows. */
const DATA = new Set(["put", "put_nbi", "iput", "ibput", "put_on_stream", "session_batch"]);

/** Base64 as bytes. */
function unpacked(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text), list = new Uint8Array(characters.length);
  for (let i = 0; i < list.length; i++) list[i] = characters.charCodeAt(i);
  return list;
}

/** What is packed, and the spans of each PE, which are read when they are wanted. */
function packedTimeline() {
  const { duration, bin, bins, calls, teams, pes, phases } = data.timeline;
  const packed = unpacked(at("spans").textContent.trim());
  const colourOf = Uint8Array.from(calls, call => call[1]);
  const starts = [bins * COLOURS * pes.length];
  for (const [, size, , , sizeOfRuns] of pes) starts.push(starts[starts.length - 1] + size + sizeOfRuns);
  const known = new Array(pes.length), knownRuns = new Array(pes.length), knownRests = new Array(pes.length), collectives = new Map();
  let sums = null;
  let next = 0;
  const number = () => {
    let value = 0, place = 1, byte;
    do {
      byte = packed[next++];
      value += (byte & 127) * place;
      place *= 128;
    } while (byte > 127);
    return value;
  };
  const signed = () => {
    const value = number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  function read(pe) {
    const n = pes[pe][2], numbers = () => new Float64Array(n);
    // Of a wait, `initiated` is when the call began that ended it, `peer` the place of that PE,
    // and `size` the call. Of a collective, `peer` is the team. `group` is one number for the calls
    // of a collective on all PEs.
    const spans = {
      n, begin: numbers(), end: numbers(), waited: numbers(), initiated: numbers(), size: numbers(), number: numbers(),
      reach: numbers(), peer: new Int32Array(n), group: new Int32Array(n), call: new Uint8Array(n), isOver: new Uint8Array(n),
    };
    let before = 0, numbered = 0, reach = 0;
    next = starts[pe];
    for (let i = 0; i < n; i++) {
      const first = number(), call = first >> 2, begin = before + signed(), length = number(), waited = number();
      const end = before = begin + length;
      spans.begin[i] = begin;
      spans.end[i] = end;
      spans.waited[i] = colourOf[call] < WAIT ? waited : length - waited;
      spans.call[i] = call;
      spans.isOver[i] = 1 - (first & 1);
      spans.reach[i] = reach = Math.max(reach, end);
      if (colourOf[call] === WAIT) {
        spans.peer[i] = number() - 1;
        if (spans.peer[i] >= 0) {
          spans.size[i] = number();
          spans.initiated[i] = end - signed();
        }
      } else if (colourOf[call] === COLLECTIVE) {
        spans.peer[i] = number();
        spans.size[i] = number();
      } else {
        spans.initiated[i] = begin + number();
        spans.peer[i] = number() - 1;
        spans.size[i] = number();
      }
      if (first & 2) spans.number[i] = colourOf[call] === COLLECTIVE ? numbered += signed() : number();
      if (colourOf[call] === COLLECTIVE) spans.group[i] = group(spans.peer[i] * 2 ** 40 + spans.number[i]);
    }
    return spans;
  }
  function group(name) {
    let found = collectives.get(name);
    if (found === undefined) collectives.set(name, found = collectives.size);
    return found;
  }
  /** At [PE][bin][kind] the shares of all PEs before it in all bins before it: any block of them takes four look-ups. */
  function sumUp() {
    const across = (bins + 1) * COLOURS, all = new Uint32Array((pes.length + 1) * across), sum = new Uint32Array(COLOURS);
    for (let pe = 0, from = 0, to = across; pe < pes.length; pe++) {
      sum.fill(0);
      to += COLOURS;
      for (let bin = 0; bin < bins; bin++) {
        for (let colour = 0; colour < COLOURS; colour++, from++, to++) all[to] = all[to - across] + (sum[colour] += packed[from]);
      }
    }
    return all;
  }
  function readRuns(pe) {
    const n = pes[pe][5], numbers = () => new Float64Array(n);
    const runs = { n, begin: numbers(), end: numbers(), calls: numbers(), shares: new Uint8Array(n * COLOURS) };
    let before = 0;
    next = starts[pe] + pes[pe][1];
    for (let i = 0; i < n; i++) {
      runs.begin[i] = before + signed();
      before = runs.end[i] = runs.begin[i] + number();
      runs.calls[i] = number();
      const kinds = packed[next++];
      for (let colour = 0; colour < COLOURS; colour++) {
        if (kinds >> colour & 1) runs.shares[i * COLOURS + colour] = packed[next++];
      }
    }
    return runs;
  }
  function restOf(pe) {
    const n = bins * COLOURS, first = pe * n, spans = new Float32Array(n), rest = new Uint8Array(n);
    addSpans(it, pe, spans, bins, 0, 1 / bin, null, 0);
    // Both are rounded up.
    for (let i = 0; i < n; i++) if (packed[first + i] > 0) rest[i] = Math.max(0, packed[first + i] - Math.ceil(spans[i] * 255 - .01));
    return rest;
  }
  const it = {
    duration: Math.max(duration, 1), bin, bins, calls, teams, pes, packed, colourOf,
    spans: pe => known[pe] ??= read(pe),
    runs: pe => knownRuns[pe] ??= readRuns(pe),
    /** What the overview of a PE has of calls that have no span. */
    rest: pe => knownRests[pe] ??= restOf(pe),
    sums: () => sums ??= sumUp(),
    groups: () => collectives.size,
    /** The lines that say in what phase a PE is: one, or none. */
    phaseAt: (pe, ns) => {
      const changes = pes[pe][6], name = changes[firstAbove(changes, ns, change => change[0]) - 1]?.[1] ?? null;
      return name === null ? [] : [`phase ${phases[name]}`];
    },
    hasRuns: pes.some(pe => pe[5] > 0),
    kept: pes.reduce((sum, pe) => sum + pe[2], 0),
    events: pes.reduce((sum, pe) => sum + pe[3], 0),
  };
  return it;
}

/** The first place of a list in order whose value, which `of` takes from it, is more than `value`. */
function firstAbove(list, value, of = it => it) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) > value) high = middle; else low = middle + 1;
  }
  return low;
}

/**
 * Adds from `begin` to `end`, in columns, to the sums of a colour. What is short counts for a
 * little, so that it is seen.
 */
function addTo(sums, width, colour, begin, end, share) {
  if (end <= 0 || begin >= width) return;
  begin = Math.max(begin, 0);
  end = Math.min(end, width);
  let column = Math.floor(begin);
  const last = Math.min(Math.floor(end), width - 1);
  if (column === last) {
    sums[column * COLOURS + colour] += (end - begin) * share + 1e-6;
    return;
  }
  sums[column * COLOURS + colour] += (column + 1 - begin) * share;
  for (column++; column < last; column++) sums[column * COLOURS + colour] += share;
  sums[last * COLOURS + colour] += (end - last) * share;
}

/** Adds the overview of some PEs to sums for `width` columns, which show `from` and what follows. */
function addOverview(packed, firstPe, lastPe, sums, width, from, scale) {
  const { bins, bin } = packed, all = packed.sums(), across = (bins + 1) * COLOURS, unit = bin * scale / 255;
  const above = firstPe * across, below = lastPe * across, before = new Float64Array(COLOURS);
  for (let column = -1, to = -COLOURS; column < width; column++, to += COLOURS) {
    // Up to the right edge of the column. The column before the first begins the differences.
    const place = Math.min(Math.max((from + (column + 1) / scale) / bin, 0), bins), whole = Math.min(Math.floor(place), bins - 1);
    for (let colour = 0, i = whole * COLOURS; colour < COLOURS; colour++, i++) {
      const sum = all[below + i] - all[above + i], next = all[below + i + COLOURS] - all[above + i + COLOURS];
      const here = sum + (next - sum) * (place - whole);
      if (column >= 0) sums[to + colour] += (here - before[colour]) * unit;
      before[colour] = here;
    }
  }
}

/** Adds what the overview of a PE has of calls that have no span. */
function addRest(packed, pe, sums, width, from, scale) {
  const { bins, bin } = packed, rest = packed.rest(pe);
  const first = Math.max(0, Math.floor(from / bin)), last = Math.min(bins, Math.ceil((from + width / scale) / bin));
  for (let i = first, place = first * COLOURS; i < last; i++) {
    const begin = (i * bin - from) * scale, end = begin + bin * scale;
    for (let colour = 0; colour < COLOURS; colour++, place++) {
      if (rest[place] > 0) addTo(sums, width, colour, begin, end, rest[place] / 255);
    }
  }
}

/** The places of the runs of a PE that are seen between two times. */
function runsBetween(packed, pe, from, to) {
  // Few are longer than a bin.
  const runs = packed.runs(pe);
  return [runs, firstAbove(runs.begin, from - 2 * packed.bin), firstAbove(runs.begin, to)];
}

/** Adds the runs of a PE to sums. */
function addRuns(packed, pe, sums, width, from, scale) {
  const [runs, first, last] = runsBetween(packed, pe, from, from + width / scale);
  for (let i = first, place = first * COLOURS; i < last; i++, place += COLOURS) {
    const begin = (runs.begin[i] - from) * scale, end = (runs.end[i] - from) * scale;
    for (let colour = 0; colour < COLOURS; colour++) {
      const share = runs.shares[place + colour];
      if (share > 0) addTo(sums, width, colour, begin, end, share / 255);
    }
  }
}

/** The spans of a PE, and the places of those that are seen between two times. */
function spansBetween(packed, pe, from, to) {
  const spans = packed.spans(pe);
  return [spans, firstAbove(spans.reach, from - 1), firstAbove(spans.begin, to)];
}

/** Adds the spans of a PE, hands those that are seen to `each`, and returns their number. `sparse`: columns of a call, where there are few. */
function addSpans(packed, pe, sums, width, from, scale, each, sparse) {
  const [spans, first, last] = spansBetween(packed, pe, from, from + width / scale);
  const least = last - first < width / 4 ? sparse : 0;
  for (let i = first; i < last; i++) {
    const begin = spans.begin[i], end = spans.end[i], colour = packed.colourOf[spans.call[i]];
    if (end < from) continue;
    const x = (begin - from) * scale;
    if (colour >= WAIT) {
      addTo(sums, width, colour, x, Math.max((end - from) * scale, x + least), 1);
    } else {
      const initiated = spans.initiated[i], waits = Math.max(initiated, end - spans.waited[i]);
      addTo(sums, width, colour, x, Math.max((initiated - from) * scale, x + least), 1);
      if (end > waits) addTo(sums, width, colour, (waits - from) * scale, (end - from) * scale, 1);
    }
    if (each !== null) each(spans, i, colour);
  }
  if (each === null) return last - first;
  // A collective that a PE is not in yet, or no longer, has others in it at the edge.
  for (const [edge, way] of [[first - 1, -1], [last, 1]]) {
    for (let i = edge; i >= 0 && i < spans.n && Math.abs(i - edge) < 40; i += way) {
      const colour = packed.colourOf[spans.call[i]];
      if (colour !== COLLECTIVE) continue;
      each(spans, i, colour);
      break;
    }
  }
  return last - first;
}

/** Calls that are more than `least` columns long. Where there would be more than `most`, half as many stay, the longest. */
function longest(most, least) {
  const calls = [];
  const add = (long, ...call) => {
    if (long <= least) return;
    calls.push([long, ...call]);
    if (calls.length <= most) return;
    calls.sort((a, b) => b[0] - a[0]).length = most / 2;
    least = calls[most / 2 - 1][0];
  };
  return { calls, add };
}

/** When the last put of a PE to a target began that a bare signal at a time announces, or null. */
function putBefore(packed, pe, time, target, signal) {
  const isSignal = call => !DATA.has(packed.calls[call][0]) && packed.colourOf[call] < WAIT && packed.colourOf[call] !== GET;
  if (!isSignal(signal) || packed.calls[signal][0].startsWith("put_signal")) return null;
  const spans = packed.spans(pe);
  for (let i = firstAbove(spans.begin, time - .5) - 1; i >= 0; i--) {
    if (spans.peer[i] !== target || packed.colourOf[spans.call[i]] >= WAIT || packed.colourOf[spans.call[i]] === GET) continue;
    return isSignal(spans.call[i]) ? null : spans.begin[i];
  }
  return null;
}
