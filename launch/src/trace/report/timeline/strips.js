// Rows above those of the PEs, which have what is of the whole job.

const STRIP = 16;

/**
 * Draws rows. Each is {name, parts}, and a part {begin, end, ink, short, words}: the name of its
 * colour, what is written in it where there is room, and what the pointer finds. `place` has what
 * the timeline knows of places: {pen, toX, ink, left, wide, top}.
 */
function drawStrips(strips, { pen, toX, ink, left, wide, top }) {
  pen.lineWidth = 1;
  strips.forEach(({ name, parts }, row) => {
    const y = top + row * STRIP, right = left + wide;
    Object.assign(pen, { fillStyle: ink("--text"), textBaseline: "middle", textAlign: "right" });
    pen.fillText(name, left - 8, y + STRIP / 2);
    pen.textAlign = "center";
    let drawn = -1;
    for (const part of parts) {
      const from = Math.max(left, toX(part.begin)), to = Math.min(right, toX(part.end));
      // What is narrower than a pixel takes one, unless another has it already.
      if (to < left || from > right || (to - from < 1 && Math.floor(from) === drawn)) continue;
      drawn = Math.floor(from);
      pen.fillStyle = ink("--" + part.ink);
      pen.fillRect(from, y + 1, Math.max(to - from - (to - from > 3 ? .5 : 0), 1), STRIP - 3);
      if (to - from < STRIP) continue;
      const need = pen.measureText(part.short).width + 6;
      if (to - from < need) continue;
      const middle = (from + to) / 2;
      pen.fillStyle = ink("--page");
      pen.fillRect(middle - need / 2, y + 2, need, STRIP - 5);
      pen.fillStyle = ink("--text");
      pen.fillText(part.short, middle, y + STRIP / 2);
    }
  });
}

/** The part of a row at a time, or null. */
function stripAt(strips, row, ns) {
  return strips[row]?.parts.find(part => part.begin <= ns && ns < part.end) ?? null;
}

/** The phases of a PE as parts of a row. */
function phasesOf({ pes, duration }, place) {
  const changes = pes[place][6], { phases } = data.timeline;
  return changes.map(([begin, phase], i) => ({
    begin, end: changes[i + 1]?.[0] ?? duration, phase, ink: `phase${phase % 4}`, short: phases[phase],
    words: `phase ${phases[phase]}\nPE ${pes[place][0]}, ${time((changes[i + 1]?.[0] ?? duration) - begin)}`,
  })).filter(({ phase }) => phase !== null);
}

/** The critical path through the rows of PEs: along each PE that it is on, and down or up to the next. */
function drawPath(parts, { pen, toX, toY, ink, left, wide }) {
  const seen = parts.filter(part => toX(part.end) >= left && toX(part.begin) <= left + wide);
  if (seen.length === 0 || seen.length > wide) return;
  for (const [width, colour] of [[4, "--page"], [2, "--text"]]) {
    pen.beginPath();
    for (const part of seen) {
      const y = toY(part.pe);
      pen.lineTo(toX(part.begin), y);
      pen.lineTo(toX(part.end), y);
    }
    Object.assign(pen, { lineWidth: width, strokeStyle: ink(colour), lineJoin: "round" });
    pen.stroke();
  }
}
