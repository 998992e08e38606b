// The timeline of the page: a row for each PE, or for several where a row each would be too low.
// What it shows is in timeline/packed.js.
// It uses the helpers of the page: at, make, time, bytes, count, plural, percent, ticks, showTip.

const timeline = (() => {
  const none = { show: () => {}, showPe: () => {}, draw: () => {}, range: () => null };
  if (data.timeline.pes.length === 0) {
    nothing("timeline-view", "No PE was recorded.");
    return none;
  }
  const packed = packedTimeline(), n = packed.pes.length, LEFT = 52, AXIS = 24, LOWEST = 6;
  const placeOf = new Map(packed.pes.map(([pe], place) => [pe, place]));
  const path = data.why.parts.map(([begin, end, pe, what, colour]) => ({
    begin, end, pe: placeOf.get(pe), ink: colour === null ? "computing" : KINDS[colour][1], short: `PE ${pe}`,
    words: `critical path\nPE ${pe}: ${what}\n${time(end - begin)}`,
  }));
  const strips = [{ name: "path", parts: path }];
  // Phases are those of the first PE that is shown.
  const phasesOfPes = [];
  if (data.timeline.phases.length > 0) strips.push({ name: "phase", get parts() { return phasesOfPes[view.first] ??= phasesOf(packed, view.first); } });
  const TOP = AXIS + strips.length * STRIP;
  // What is shown: times, and places of PEs.
  const view = { from: 0, to: packed.duration, first: 0, pes: n };
  let chosen = null, asked = false;
  const perRow = pes => Math.ceil(pes / Math.floor(540 / LOWEST));
  const high = (() => {
    const rows = Math.ceil(n / perRow(n));
    return rows * Math.min(30, Math.max(LOWEST, Math.floor(540 / rows)));
  })();
  // The rows are made as pixels, so the picture is kept where the processor is.
  const canvas = make("canvas", { tabIndex: 0 }), pen = canvas.getContext("2d", { willReadFrequently: true });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", "Timeline of the calls of each PE. Arrows move, plus and minus zoom, 0 shows the whole job.");
  at("timeline-view").replaceChildren(canvas);

  // Where things are, in the canvas.
  let across = 0;
  const wide = () => across - LEFT - 1;
  const toX = ns => LEFT + (ns - view.from) / (view.to - view.from) * wide();
  const toTime = x => view.from + (x - LEFT) / wide() * (view.to - view.from);
  const rows = () => {
    const each = Math.ceil(view.pes / Math.max(1, Math.floor(high / LOWEST)));
    return { each, n: Math.ceil(view.pes / each) };
  };
  const toYOf = row => TOP + (row + .5) * high / rows().n;
  const toY = place => toYOf(Math.floor((place - view.first) / rows().each));
  // Asked for once in a draw.
  let inks = new Map();
  const ink = name => {
    if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return inks.get(name);
  };
  const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  const word = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

  /** Whether calls that are not there one by one are drawn in runs, rather than as sums. */
  const areRunsSeen = () => packed.hasRuns && packed.bin / (view.to - view.from) * wide() > 4;

  /** Whether more calls are in view than are drawn one by one. */
  function areMany() {
    let seen = 0;
    for (let pe = view.first; pe < view.first + view.pes && seen <= MOST_SPANS; pe++) {
      const [, first, last] = spansBetween(packed, pe, view.from, view.to);
      seen += last - first;
    }
    return seen > MOST_SPANS;
  }

  /** The rows. Returns how much was drawn, and calls that are long enough for bands and arrows. */
  function drawRows(ratio) {
    const width = Math.max(1, Math.round(wide() * ratio)), height = Math.round(high * ratio);
    const picture = pen.createImageData(width, height), pixels = new Uint32Array(picture.data.buffer);
    const ground = rgb(ink("--shade")), page = word(rgb(ink("--page")));
    const solid = KINDS.map(([, name]) => rgb(ink("--" + name)));
    const faint = solid.map(colour => word(colour.map((part, i) => Math.round(part * .35 + ground[i] * .65))));
    const full = solid.map(word), empty = word(ground);
    const scale = width / (view.to - view.from), overview = packed.bins > 0 && (packed.bin * scale <= 1.5 * ratio || areMany());
    const runs = areRunsSeen();
    const { each, n: shown } = rows(), sums = new Float32Array(width * COLOURS), under = new Float32Array(width * COLOURS);
    const seen = { rows: shown, spans: 0, collectives: new Array(packed.groups()), waits: longest(MOST_ARROWS, 6 * ratio) }, single = each === 1;
    for (let row = 0; row < shown; row++) {
      const top = Math.round(row * height / shown), bottom = Math.round((row + 1) * height / shown) - 1;
      pixels.fill(empty, top * width, bottom * width);
      pixels.fill(page, bottom * width, (bottom + 1) * width);
      sums.fill(0);
      under.fill(0);
      // Below the spans that are there, what others there were.
      let levels = 1;
      const first = view.first + row * each, last = Math.min(first + each, view.first + view.pes);
      const flights = [];
      if (overview) addOverview(packed, first, last, sums, width, view.from, scale);
      for (let pe = first; pe < last && !overview; pe++) {
        seen.spans += addSpans(packed, pe, sums, width, view.from, scale, (spans, i, colour) => {
          if (!single && colour !== COLLECTIVE) return;
          const long = (spans.end[i] - spans.begin[i]) * scale;
          if (colour === COLLECTIVE && long > .5) addToBand(seen.collectives, spans, i, row);
          if (colour === WAIT && spans.peer[i] >= 0) seen.waits.add(long, pe, spans, i);
          if (colour < WAIT && (spans.end[i] - spans.initiated[i]) * scale > 2) {
            flights.push([spans.initiated[i], spans.end[i], faint[colour]]);
          }
        }, 2 * ratio);
        if (packed.pes[pe][2] < packed.pes[pe][3]) {
          if (runs) addRuns(packed, pe, under, width, view.from, scale); else addRest(packed, pe, under, width, view.from, scale);
          levels = 2;
        }
      }
      const room = bottom - top, among = last - first;
      for (let column = 0; column < width; column++) {
        const place = column * COLOURS;
        let sum = 0, most = 0, y = bottom;
        for (let colour = 0; colour < COLOURS; colour++) {
          sum += sums[place + colour];
          if (sums[place + colour] > sums[place + most]) most = colour;
        }
        const unit = room / Math.max(among, sum);
        for (let level = sum > 0 ? 0 : 1; level < levels; level++) {
          for (let colour = 0; colour < COLOURS; colour++) {
            const share = (level === 0 ? sums : under)[place + colour];
            const ink = level === 0 ? full[colour] : faint[colour];
            for (let rest = Math.round(share * unit); rest > 0 && y > top; rest--) pixels[--y * width + column] = ink;
          }
        }
        // Where there is but little, the kind that there is most of has a pixel.
        if (sum > 0 && y === bottom) pixels[--y * width + column] = full[most];
      }
      for (const [begin, end, ink] of flights) {
        const x = Math.max(0, Math.round((begin - view.from) * scale)), to = Math.min(width, Math.round((end - view.from) * scale));
        for (let y = bottom - Math.max(1, Math.round(2 * ratio)); y < bottom; y++) {
          for (let column = x; column < to; column++) if (pixels[y * width + column] === empty) pixels[y * width + column] = ink;
        }
      }
    }
    pen.putImageData(picture, Math.round(LEFT * ratio), Math.round(TOP * ratio));
    return seen;
  }

  /** Adds a call of a collective to what each row has of it. */
  function addToBand(bands, spans, i, row) {
    const begin = spans.begin[i], end = spans.end[i], band = bands[spans.group[i]] ??= { begin, end, parts: [], last: null };
    if (begin < band.begin) band.begin = begin;
    if (end > band.end) band.end = end;
    const { last } = band;
    if (last === null || last.row !== row) {
      band.parts.push(band.last = { row, begin, end });
      return;
    }
    if (begin < last.begin) last.begin = begin;
    if (end > last.end) last.end = end;
  }

  /** A collective: what is between its begins and its ends, across its rows. Where many are seen, those that took longest. */
  function drawBands(bands) {
    const most = wide() / 12, list = bands.filter(band => band.parts.length > 1);
    if (list.length > most) list.sort((a, b) => b.end - b.begin - a.end + a.begin).length = Math.floor(most);
    pen.strokeStyle = pen.fillStyle = ink("--band");
    for (const { parts } of list) {
      const edge = side => parts.map(part => [toX(part[side]), toYOf(part.row)]);
      pen.beginPath();
      for (const [x, y] of [...edge("begin"), ...edge("end").reverse()]) pen.lineTo(x, y);
      pen.closePath();
      pen.globalAlpha = .2;
      pen.fill();
      pen.globalAlpha = .8;
      pen.lineWidth = 1;
      pen.stroke();
    }
    pen.globalAlpha = 1;
    return list.length;
  }

  /** From a put or signal to the end of the wait that it ended, and to a bare signal from the put before it. */
  function drawArrows({ calls }) {
    if (rows().each > 1) return;
    pen.strokeStyle = pen.fillStyle = ink("--text");
    for (const [, pe, spans, i] of calls) {
      const sender = spans.peer[i], signal = spans.initiated[i];
      const from = [toX(signal), toY(sender)], to = [toX(spans.end[i]), toY(pe)];
      const put = putBefore(packed, sender, signal, packed.pes[pe][0], spans.size[i]);
      pen.lineWidth = 1.25;
      pen.beginPath();
      pen.moveTo(...from);
      pen.lineTo(...to);
      pen.stroke();
      drawHead(from, to);
      if (put === null || from[0] - toX(put) < 3) continue;
      // Away from the waiting PE, so that the path does not cross itself.
      const bow = high / rows().n * (to[1] < from[1] ? .8 : -.8), middle = (toX(put) + from[0]) / 2;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(toX(put), from[1]);
      pen.quadraticCurveTo(middle, from[1] + bow, ...from);
      pen.stroke();
      pen.beginPath();
      pen.arc(toX(put), from[1], 2, 0, 7);
      pen.fill();
    }
  }
  function drawHead(from, to) {
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]), size = 6;
    pen.beginPath();
    pen.moveTo(...to);
    for (const side of [-.4, .4]) pen.lineTo(to[0] - size * Math.cos(angle + side), to[1] - size * Math.sin(angle + side));
    pen.fill();
  }

  /** Times above the rows, and numbers of PEs beside them. */
  function drawAxes() {
    const span = view.to - view.from, step = ticks(span, wide() / 90)[1], since = view.to / step > 100;
    Object.assign(pen, { fillStyle: ink("--text"), strokeStyle: ink("--quiet"), textBaseline: "middle", textAlign: "center", lineWidth: 1 });
    pen.font = "12px " + getComputedStyle(document.body).fontFamily;
    const text = value => since ? (value > 0 ? "+ " : "") + plain(time)(value) : plain(time)(value);
    let before = -Infinity;
    for (let i = since ? 0 : Math.ceil(view.from / step); ; i++) {
      const value = i * step, x = toX(since ? view.from + value : value);
      if (x > LEFT + wide() + 1) break;
      const words = since && i === 0 ? "0" : text(value), half = pen.measureText(words).width / 2;
      if (x - half < before) continue;
      pen.beginPath();
      pen.moveTo(x, AXIS - 5);
      pen.lineTo(x, AXIS);
      pen.stroke();
      pen.fillText(words, Math.min(Math.max(x, half), across - half), 9);
      before = x + half + 12;
    }
    pen.textAlign = "right";
    const { each, n: shown } = rows(), apart = Math.max(1, Math.ceil(14 / (high / shown)));
    for (let row = 0; row < shown; row += apart) {
      pen.fillText(String(packed.pes[view.first + row * each][0]), LEFT - 8, TOP + (row + .5) * high / shown);
    }
    pen.textAlign = "left";
    pen.fillText("PE", 0, 9);
  }

  function drawChosen() {
    if (chosen === null || chosen.pe < view.first || chosen.pe >= view.first + view.pes) return;
    const { spans, i, pe } = chosen, row = high / rows().n;
    const x = toX(spans.begin[i]), width = Math.max(3, toX(spans.end[i]) - x);
    pen.strokeStyle = ink("--text");
    pen.lineWidth = 2;
    pen.strokeRect(x, toY(pe) - row / 2, width, row - 1);
  }

  /** Returns how much was drawn one by one. */
  function draw() {
    asked = false;
    inks = new Map();
    const ratio = devicePixelRatio || 1;
    across = at("timeline-view").clientWidth;
    canvas.style.width = across + "px";
    canvas.style.height = high + TOP + "px";
    canvas.width = Math.round(across * ratio);
    canvas.height = Math.round((high + TOP) * ratio);
    const seen = drawRows(ratio);
    pen.scale(ratio, ratio);
    drawAxes();
    const places = { pen, toX, toY, ink, left: LEFT, wide: wide(), top: AXIS };
    drawStrips(strips, places);
    pen.beginPath();
    pen.rect(LEFT, TOP, wide(), high);
    pen.clip();
    const bands = drawBands(seen.collectives);
    drawArrows(seen.waits);
    if (rows().each === 1) drawPath(path, places);
    drawChosen();
    const { each } = rows(), last = view.first + view.pes - 1;
    const pes = view.pes === 1 ? `PE ${packed.pes[last][0]}` : `PEs ${packed.pes[view.first][0]}–${packed.pes[last][0]}`;
    at("timeline-range").textContent = `${time(view.to - view.from)} from ${moment(view.from)} · ${pes}` + (each > 1 ? ` · a row is ${each} PEs` : "");
    return { rows: seen.rows, each, spans: seen.spans, bands };
  }
  const later = () => {
    if (!asked) requestAnimationFrame(draw);
    asked = true;
  };
  /** A time to the digits that tell it from its neighbours in the view. */
  function moment(ns) {
    const [unit, name] = view.to >= 1e9 ? [1e9, "s"] : view.to >= 1e6 ? [1e6, "ms"] : view.to >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const places = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / (view.to - view.from)) + 3)));
    return (ns / unit).toFixed(unit === 1 ? 0 : places) + " " + name;
  }

  // Moving about.
  function look(from, to) {
    if (!(from <= to)) return false;
    const span = Math.min(Math.max(to - from, 20), packed.duration), middle = (from + to) / 2;
    const begin = Math.min(Math.max(middle - span / 2, 0), packed.duration - span);
    const changed = begin !== view.from || begin + span !== view.to;
    Object.assign(view, { from: begin, to: begin + span });
    later();
    return changed;
  }
  function lookAt(first, pes) {
    view.pes = Math.min(Math.max(Math.round(pes), 1), n);
    view.first = Math.min(Math.max(Math.round(first), 0), n - view.pes);
    later();
  }
  /** `factor` below 1 is closer; `about` stays where it is. */
  const zoom = (factor, about = (view.from + view.to) / 2) => look(about + (view.from - about) * factor, about + (view.to - about) * factor);
  const zoomPes = (factor, about = view.first + view.pes / 2) => {
    const pes = factor < 1 ? Math.floor(view.pes * factor) : Math.ceil(view.pes * factor);
    lookAt(about - (about - view.first) / view.pes * pes, pes);
  };
  const pan = part => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const whole = () => { look(0, packed.duration); lookAt(0, n); };
  const steps = [
    ["−", "Zoom out", () => zoom(2)], ["+", "Zoom in", () => zoom(.5)], ["←", "Earlier", () => pan(-.25)], ["→", "Later", () => pan(.25)],
    ["Fewer PEs", "Higher rows", () => zoomPes(.5)], ["More PEs", "Lower rows", () => zoomPes(2)], ["Whole job", "All PEs and all times", whole],
  ];
  at("timeline-buttons").replaceChildren(...steps.map(([textContent, title, action]) => {
    const button = make("button", { type: "button", textContent, title });
    button.addEventListener("click", action);
    return button;
  }));
  const KEYS = {
    "+": () => zoom(.5), "=": () => zoom(.5), "-": () => zoom(2), "_": () => zoom(2), "0": whole, Home: whole,
    ArrowLeft: () => pan(-.1), ArrowRight: () => pan(.1), ArrowUp: () => lookAt(view.first - 1, view.pes), ArrowDown: () => lookAt(view.first + 1, view.pes),
  };
  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && event.key === "ArrowUp") zoomPes(.5);
    else if (event.shiftKey && event.key === "ArrowDown") zoomPes(2);
    else if (KEYS[event.key]) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
  const within = event => {
    const bounds = canvas.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  };
  const placeAt = y => view.first + Math.floor((y - TOP) / high * rows().n) * rows().each;
  canvas.addEventListener("wheel", event => {
    const [x, y] = within(event), turn = event.deltaY || event.deltaX, factor = Math.exp(turn * (event.deltaMode === 0 ? .002 : .05));
    let changed = true;
    if (event.shiftKey) zoomPes(factor, placeAt(y) + .5);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) changed = pan(event.deltaX / wide());
    else changed = zoom(factor, toTime(x));
    // Where there is nothing more to see, the page moves on.
    if (changed) event.preventDefault();
  }, { passive: false });
  const fingers = new Map();
  let dragged = 0;
  canvas.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, within(event));
    if (fingers.size === 1) dragged = 0;
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return;
    const now = within(event), old = [...fingers.values()];
    fingers.set(event.pointerId, now);
    dragged += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (old.length === 2) {
      const next = [...fingers.values()], apart = ([a, b]) => Math.max(10, Math.hypot(a[0] - b[0], a[1] - b[1]));
      const middle = pair => (pair[0][0] + pair[1][0]) / 2, shift = toTime(middle(old)) - toTime(middle(next));
      zoom(apart(old) / apart(next), toTime(middle(old)));
      look(view.from + shift, view.to + shift);
    } else if (dragged > 4) {
      const shift = toTime(before[0]) - toTime(now[0]);
      look(view.from + shift, view.to + shift);
      const move = Math.round((before[1] - now[1]) / (high / rows().n)) * rows().each;
      if (move !== 0) lookAt(view.first + move, view.pes); else fingers.set(event.pointerId, [now[0], before[1]]);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => fingers.delete(event.pointerId));
  canvas.addEventListener("dblclick", event => zoom(.25, toTime(within(event)[0])));

  // What is at a place.
  function callAt(x, y) {
    const pe = placeAt(y), ns = toTime(x), near = 3 / wide() * (view.to - view.from);
    if (x < LEFT || y < TOP || y >= TOP + high || pe >= n || rows().each > 1) return null;
    const spans = packed.spans(pe), last = firstAbove(spans.begin, ns + near);
    let best = null, length = Infinity;
    for (let i = firstAbove(spans.reach, ns - near - 1); i < last; i++) {
      if (spans.end[i] < ns - near) continue;
      const away = Math.max(0, spans.begin[i] - ns, ns - spans.end[i]), rank = away * 1e3 + spans.end[i] - spans.begin[i];
      if (rank < length) [best, length] = [{ pe, spans, i }, rank];
    }
    return best;
  }
  function described({ pe, spans, i }) {
    const call = packed.calls[spans.call[i]][0], colour = packed.colourOf[spans.call[i]], long = spans.end[i] - spans.begin[i];
    const lines = [`PE ${packed.pes[pe][0]}: ${call}`];
    if (colour === COLLECTIVE) {
      lines[0] += (spans.number[i] ? ` #${spans.number[i]}` : "") + ` on ${packed.teams[spans.peer[i]]}`;
      if (spans.size[i]) lines.push(`${bytes(spans.size[i])} of this PE`);
    } else if (colour !== WAIT) {
      if (spans.peer[i] >= 0) lines[0] += `, target PE ${spans.peer[i]}`;
      lines.push(bytes(spans.size[i]) + (spans.number[i] ? ` in ${plural(spans.number[i], "operation")}` : ""));
    }
    lines.push(`began at ${moment(spans.begin[i])}, took ${time(long)}`, `lost ${time(spans.waited[i])} in waiting`);
    if (colour < WAIT && spans.initiated[i] < spans.end[i]) lines.push(`under way for ${time(spans.end[i] - spans.initiated[i])} of it`);
    if (colour === WAIT && spans.peer[i] >= 0) lines.push(`ended by ${packed.calls[spans.size[i]][0]} of PE ${packed.pes[spans.peer[i]][0]}`);
    if (!spans.isOver[i]) lines.push("it did not end");
    return [...lines, ...packed.phaseAt(pe, spans.begin[i])];
  }
  /** The run at a place, where runs are drawn. */
  function runAt(x, y) {
    const pe = placeAt(y), ns = toTime(x);
    if (!areRunsSeen() || rows().each > 1) return null;
    const [runs, first, last] = runsBetween(packed, pe, ns, ns);
    for (let i = last - 1; i >= first; i--) if (runs.end[i] >= ns) return { pe, runs, i };
    return null;
  }
  function describedRun({ pe, runs, i }) {
    const lines = [`PE ${packed.pes[pe][0]}: ${plural(runs.calls[i], "short call")} in ${time(runs.end[i] - runs.begin[i])}`];
    KINDS.forEach(([words], colour) => {
      const share = runs.shares[i * COLOURS + colour];
      if (share > 0) lines.push(`${words} ${percent(share / 255)}`);
    });
    return [...lines, `the first began at ${moment(runs.begin[i])}`, ...packed.phaseAt(pe, runs.begin[i])];
  }
  function sharesAt(x, y) {
    const first = placeAt(y), last = Math.min(first + rows().each, view.first + view.pes), sums = new Float32Array(COLOURS);
    const span = 3 / wide() * (view.to - view.from), from = toTime(x) - span / 2, scale = 1 / span;
    if (packed.bins > 0) addOverview(packed, first, last, sums, 1, from, scale);
    else for (let pe = first; pe < last; pe++) addSpans(packed, pe, sums, 1, from, scale, null, 0);
    const name = place => packed.pes[place][0];
    const parts = KINDS.map(([words], i) => [words, Math.min(1, sums[i] / (last - first))]).filter(([, share]) => share > 0);
    return [
      (last - first === 1 ? `PE ${name(first)}` : `PEs ${name(first)}–${name(last - 1)}`) + ` at ${moment(toTime(x))}`,
      ...parts.map(([words, share]) => `${words} ${percent(share)}`), ...(parts.length ? [] : ["no call"]),
      ...(last - first === 1 ? packed.phaseAt(first, toTime(x)) : []),
    ];
  }
  hoverable(canvas, event => {
    const [x, y] = within(event);
    if (x >= LEFT && y >= AXIS && y < TOP) return stripAt(strips, Math.floor((y - AXIS) / STRIP), toTime(x))?.words ?? null;
    if (fingers.size > 0 || x < LEFT || y < TOP || y >= TOP + high || placeAt(y) >= view.first + view.pes) return null;
    const call = callAt(x, y), ns = toTime(x), isOn = call && call.spans.begin[call.i] <= ns && ns <= call.spans.end[call.i];
    const run = isOn ? null : runAt(x, y);
    if (run !== null) return describedRun(run).join("\n");
    const isLong = call && (call.spans.end[call.i] - call.spans.begin[call.i]) / (view.to - view.from) * wide() > 2;
    if (call && (isLong || packed.bins === 0 || packed.bin / (view.to - view.from) * wide() > 1)) return described(call).join("\n");
    return sharesAt(x, y).join("\n");
  });

  /** Says below the rows what was chosen, with links to its rows in tables. */
  function choose(call) {
    chosen = call;
    later();
    if (call === null) return at("timeline-chosen").replaceChildren();
    const { pe, spans, i } = call, number = packed.pes[pe][0], name = packed.calls[spans.call[i]][0];
    const links = [
      ["slowest wait", "slowest", row => row[0] === number && row[2] === spans.begin[i] && row[3] === spans.waited[i]],
      ["critical path", "critical", row => row[0] === number && row[1] === name], ["PE", "pes", row => row[0] === number], ["call", "calls", row => row[0] === name],
      ["collective", "collective-calls", row => row[0] === name && row[1] === packed.teams[spans.peer[i]]],
      ["pair", "pairs", row => packed.colourOf[spans.call[i]] < WAIT && row[0] === number && row[1] === spans.peer[i]],
    ].filter(([, table, is]) => tables[table]?.has(is)).map(([words, table, is]) => link(words, () => tables[table].reveal(is)));
    at("timeline-chosen").replaceChildren(described(call).join(" · "), links.length ? " · in the tables: " : "", ...links.flatMap((it, i) => i ? [" · ", it] : [it]));
  }
  canvas.addEventListener("click", event => {
    if (dragged <= 4) choose(callAt(...within(event)));
  });

  /** Shows a time, with as much before and after it, and chooses the call of a PE that begins at `begin`. */
  function show(pe, from, to, begin) {
    const margin = Math.max(to - from, 50), place = placeOf.get(pe);
    look(from - margin, to + margin);
    if (place !== undefined) {
      if (rows().each > 1 || place < view.first || place >= view.first + view.pes) lookAt(place - 8, 16);
      const spans = packed.spans(place), first = firstAbove(spans.begin, begin - .5);
      let i = first;
      while (i + 1 < spans.n && spans.begin[i + 1] === begin && spans.end[i] < to) i++;
      choose(i < spans.n && spans.begin[i] === begin ? { pe: place, spans, i } : null);
    }
    at("timeline").scrollIntoView();
    canvas.focus({ preventScroll: true });
  }
  function showPe(pe) {
    if (!placeOf.has(pe)) return;
    lookAt(placeOf.get(pe) - 4, Math.min(n, 9));
    at("timeline").scrollIntoView();
  }

  at("timeline-key").replaceChildren(...KINDS.flatMap(([words, name]) => {
    const key = make("span", { className: "key" });
    key.style.background = `var(--${name})`;
    return [key, words];
  }));
  if (data.timeline.shortPhases > 0) {
    at("timeline-phases").textContent = `${plural(data.timeline.shortPhases, "stay")} of PEs in a phase, the shortest, are not here. The table of phases counts them.`;
  }
  if (packed.kept < packed.events) {
    at("timeline-left-out").hidden = false;
    at("timeline-left-out").textContent = `${count(packed.events - packed.kept)} of ${plural(packed.events, "call")} are not here one by one, so that the page stays small: ` +
      "the longest calls of the job are, and of each stretch of time the longest of a PE. Of the others those that follow each other closely are together, in a pale colour.";
  }
  // Reading all spans takes a while: some PEs at a time, when there is nothing else to do.
  let unread = 0;
  const readSome = () => {
    for (const begin = performance.now(); unread < n && performance.now() - begin < 8; unread++) packed.runs(unread), packed.rest(unread);
    if (unread < n) setTimeout(readSome, 0);
  };
  setTimeout(readSome, 0);
  draw();
  addEventListener("resize", later);
  dark.addEventListener("change", later);
  return { show, showPe, draw, range: () => ({ ...view }) };
})();
