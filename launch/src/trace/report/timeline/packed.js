"use strict";
// What the Rust side packed (timeline/mod.rs), and sums of it for columns of pixels.

const KINDS = [["puts and signals", "put"], ["gets", "get"], ["atomic operations", "atomic"], ["waits", "wait"], ["collectives", "collective"]];
const WAIT = 3, COLLECTIVE = 4, COLOURS = KINDS.length;
/** With more calls of collectives there are no bands, and with more waits no arrows. */
const MOST_OF_BANDS = 10000, MOST_ARROWS = 300;

/** Base64 as bytes. */
function unpacked(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text), list = new Uint8Array(characters.length);
  for (let i = 0; i < list.length; i++) list[i] = characters.charCodeAt(i);
  return list;
}

/** What is packed, and the spans of each PE, which are read when they are wanted. */
function packedTimeline() {
  const { duration, bin, bins, calls, teams, pes } = data.timeline;
  const packed = unpacked(at("spans").textContent.trim());
  const colourOf = Uint8Array.from(calls, call => call[1]);
  const starts = [bins * COLOURS * pes.length];
  for (const [, size] of pes) starts.push(starts[starts.length - 1] + size);
  const known = new Array(pes.length);
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
  function read(pe) {
    const n = pes[pe][2], numbers = () => new Float64Array(n);
    // Of a wait, `initiated` is when the call began that ended it, `peer` the place of that PE,
    // and `size` the call. Of a collective, `peer` is the team.
    const spans = {
      n, begin: numbers(), end: numbers(), waited: numbers(), initiated: numbers(), size: numbers(), number: numbers(),
      reach: numbers(), peer: new Int32Array(n), call: new Uint8Array(n), isOver: new Uint8Array(n),
    };
    let before = 0, reach = 0;
    next = starts[pe];
    for (let i = 0; i < n; i++) {
      const first = number(), call = first >> 2;
      before += number();
      const end = before + number();
      spans.begin[i] = before;
      spans.end[i] = end;
      spans.waited[i] = number();
      spans.call[i] = call;
      spans.isOver[i] = 1 - (first & 1);
      spans.reach[i] = reach = Math.max(reach, end);
      if (colourOf[call] === WAIT) {
        spans.peer[i] = number() - 1;
        if (spans.peer[i] >= 0) {
          spans.size[i] = number();
          const since = number();
          spans.initiated[i] = end - (since % 2 ? -(since + 1) / 2 : since / 2);
        }
      } else if (colourOf[call] === COLLECTIVE) {
        spans.peer[i] = number();
        spans.size[i] = number();
      } else {
        spans.initiated[i] = before + number();
        spans.peer[i] = number() - 1;
        spans.size[i] = number();
      }
      if (first & 2) spans.number[i] = number();
    }
    return spans;
  }
  return {
    duration: Math.max(duration, 1), bin, bins, calls, teams, pes, packed, colourOf,
    spans: pe => known[pe] ??= read(pe),
    kept: pes.reduce((sum, pe) => sum + pe[2], 0),
    events: pes.reduce((sum, pe) => sum + pe[3], 0),
  };
}

/** The first place of a list in order whose value is more than `value`. */
function firstAbove(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > value) high = middle; else low = middle + 1;
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

/** Adds the overview of a PE to sums for `width` columns, which show `from` and what follows. */
function addOverview(packed, pe, sums, width, from, scale) {
  const { bins, bin } = packed;
  const first = Math.max(0, Math.floor(from / bin)), last = Math.min(bins, Math.ceil((from + width / scale) / bin));
  for (let i = first, place = (pe * bins + first) * COLOURS; i < last; i++, place += COLOURS) {
    const begin = (i * bin - from) * scale, end = begin + bin * scale;
    for (let colour = 0; colour < COLOURS; colour++) {
      const share = packed.packed[place + colour];
      if (share > 0) addTo(sums, width, colour, begin, end, share / 255);
    }
  }
}

/** Adds the spans of a PE, and hands those that are seen to `each`. `least`: columns of a call. */
function addSpans(packed, pe, sums, width, from, scale, each, sparse) {
  const spans = packed.spans(pe), to = from + width / scale;
  const first = firstAbove(spans.reach, from - 1), last = firstAbove(spans.begin, to);
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
  if (each === null) return;
  // A collective that a PE is not in yet, or no longer, has others in it at the edge.
  for (const [edge, way] of [[first - 1, -1], [last, 1]]) {
    for (let i = edge; i >= 0 && i < spans.n && Math.abs(i - edge) < 40; i += way) {
      const colour = packed.colourOf[spans.call[i]];
      if (colour !== COLLECTIVE) continue;
      each(spans, i, colour);
      break;
    }
  }
}
