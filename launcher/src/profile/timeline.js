// The timeline of a job on a canvas: one row for each thread. The wheel zooms at the pointer, dragging moves, a double click shows
// all again; + and -, the arrow keys and Home do the same. Nothing is fetched.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const canvas = document.getElementById("timeline"), told = document.getElementById("timeline-told");
  const pen = canvas.getContext("2d");
  const LEFT = 84, TOP = 24, LABEL = 92;
  // A higher canvas stays empty (Firefox draws up to 32,767), so the rows of many threads are lower, and not each has its name.
  const HIGHEST = 32000, ROW = Math.max(1, Math.min(22, Math.floor((HIGHEST - TOP - 4) / data.rows.length)));
  const BAR = Math.max(1, Math.round(0.73 * ROW)), NAMED = Math.ceil(16 / ROW);
  const kinds = ["other", "transfer", "atomic", "ordering", "waiting", "collective"];
  let from = 0, to = data.end, hot = null, drag = null;

  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colours = () => [style("--limit"), style("--c0"), style("--c2"), style("--c4"), style("--c1"), style("--c3")];
  const time = us => us === 0 ? "0" : us >= 1e6 ? (us / 1e6).toPrecision(4) + " s" : us >= 1e3 ? (us / 1e3).toPrecision(4) + " ms" : us.toPrecision(4) + " µs";
  // The unit of a view's labels, and as many digits as tell two neighbours apart.
  const tick = (us, step) => {
    const [unit, name] = to >= 1e6 ? [1e6, "s"] : to >= 1e3 ? [1e3, "ms"] : [1, "µs"];
    return us === 0 ? "0" : (us / unit).toFixed(Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9))) + " " + name;
  };
  // The least of 1, 2, 5, 10, 20, ... that is not less.
  const distance = least => {
    const decade = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map(factor => factor * decade).find(one => one >= least * (1 - 1e-9));
  };
  const width = () => canvas.clientWidth;
  const place = us => LEFT + (us - from) * (width() - LEFT) / (to - from);
  const moment = x => from + (x - LEFT) * (to - from) / (width() - LEFT);

  // Of each call of a row the latest end up to there: a call stands in front of those that a handler of signals has made inside of it.
  data.rows.forEach(row => {
    let latest = 0;
    row.ends = Float64Array.from(row.calls, ([begin, lasted]) => latest = Math.max(latest, begin + lasted));
  });

  // The first call of a row that ends behind a moment.
  const first = (row, us) => {
    let low = 0, high = row.calls.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (row.ends[mid] < us) low = mid + 1; else high = mid;
    }
    return low;
  };
  // Whether a call lies inside of one that stands in front of it. Times are whole nanoseconds, and their sums are rounded.
  const isInside = (row, i) => i > 0 && row.calls[i][0] + 0.0005 < row.ends[i - 1];

  const draw = () => {
    const height = TOP + ROW * data.rows.length + 4, ratio = Math.min(window.devicePixelRatio || 1, HIGHEST / height);
    canvas.style.height = height + "px";
    canvas.width = width() * ratio;
    canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width(), height);
    pen.font = "12px system-ui, sans-serif";
    const ink = style("--ink"), soft = style("--soft"), rule = style("--rule"), fill = colours();
    const step = distance((to - from) * LABEL / (width() - LEFT));
    pen.fillStyle = soft;
    pen.strokeStyle = rule;
    for (let us = Math.ceil(from / step) * step; us <= to; us += step) {
      const x = place(us);
      pen.beginPath();
      pen.moveTo(x, TOP - 6);
      pen.lineTo(x, height);
      pen.stroke();
      const label = tick(us, step);
      if (x + 3 + pen.measureText(label).width <= width()) pen.fillText(label, x + 3, 14);
    }
    let shown = 0;
    data.rows.forEach((row, number) => {
      const y = TOP + number * ROW;
      pen.fillStyle = ink;
      if (number % NAMED === 0) pen.fillText(row.name, 2, y + 13);
      let last = -1;
      for (let i = first(row, from); i < row.calls.length && row.calls[i][0] <= to; i++) {
        const call = row.calls[i], begin = Math.max(place(call[0]), LEFT), inside = isInside(row, i);
        if (call[0] + call[1] < from) continue;
        const end = Math.max(Math.min(place(call[0] + call[1]), width()), begin + 0.7);
        shown++;
        // Of calls inside of another one those are drawn that have a width.
        if (inside ? end - begin < 1 : end < last + 0.5) continue;
        last = Math.max(last, end);
        const top = inside ? y + BAR / 4 : y, height = inside ? BAR / 2 : BAR;
        pen.fillStyle = fill[data.kinds[call[2]]];
        pen.fillRect(begin, top, end - begin, height);
        if (call === hot) {
          pen.strokeStyle = ink;
          pen.lineWidth = 2;
          pen.strokeRect(begin, top, end - begin, height);
          pen.lineWidth = 1;
        }
      }
    });
    // More arrows than this hide the calls.
    const arrows = data.arrows.filter(([, a, , b]) => Math.max(a, b) >= from && Math.min(a, b) <= to);
    if (arrows.length <= 400) {
      pen.strokeStyle = ink;
      pen.fillStyle = ink;
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, 0, width(), height);
      pen.clip();
      for (const [row, begin, target, end] of arrows) {
        const x = place(end), y = TOP + target * ROW + BAR / 2;
        pen.beginPath();
        pen.moveTo(place(begin), TOP + row * ROW + BAR / 2);
        pen.lineTo(x, y);
        pen.stroke();
        pen.beginPath();
        pen.arc(x, y, 2.5, 0, 7);
        pen.fill();
      }
      pen.restore();
    }
    canvas.dataset.shown = shown;
    canvas.dataset.arrows = arrows.length;
  };

  const describe = call => {
    const [begin, lasted, name, bytes, peer, at, meeting] = call;
    const words = [data.names[name] + " took " + time(lasted) + " after " + time(begin)];
    if (bytes) words.push(bytes + " bytes");
    if (peer >= 0) words.push("PE " + peer);
    if (at >= 0) words.push("at " + data.places[at]);
    if (meeting) {
      words.push("meeting " + meeting[1] + " of the team of " + meeting[0]);
      words.push("PE " + meeting[2] + " came last, this one waited " + time(meeting[3]));
    }
    return words.join("; ");
  };

  const under = event => {
    const box = canvas.getBoundingClientRect(), row = data.rows[Math.floor((event.clientY - box.top - TOP) / ROW)];
    if (!row) return null;
    const us = moment(event.clientX - box.left), near = 2 * (to - from) / width();
    let found = null;
    // The innermost one.
    for (let i = first(row, us - near); i < row.calls.length && row.calls[i][0] <= us + near; i++) {
      const call = row.calls[i];
      if (call[0] + call[1] >= us - near && (!found || isInside(row, i))) found = call;
    }
    return found;
  };

  const show = (begin, end) => {
    const least = 0.01, length = Math.min(Math.max(end - begin, least), data.end);
    from = Math.min(Math.max(begin, 0), data.end - length);
    to = from + length;
    draw();
  };
  const zoom = (factor, x) => {
    const middle = moment(x ?? (LEFT + width()) / 2);
    show(middle - (middle - from) * factor, middle + (to - middle) * factor);
  };

  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, event.clientX - canvas.getBoundingClientRect().left);
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => { drag = [event.clientX, from, to]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", event => {
    if (drag) {
      const by = (event.clientX - drag[0]) * (to - from) / (width() - LEFT);
      show(drag[1] - by, drag[2] - by);
    } else {
      const call = under(event);
      if (call !== hot) {
        hot = call;
        if (call) told.textContent = describe(call);
        draw();
      }
    }
  });
  canvas.addEventListener("dblclick", () => show(0, data.end));
  canvas.addEventListener("keydown", event => {
    const part = (to - from) / 4;
    const does = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "Home": () => show(0, data.end),
      "ArrowLeft": () => show(from - part, to - part), "ArrowRight": () => show(from + part, to + part),
    }[event.key];
    if (does) {
      event.preventDefault();
      does();
    }
  });
  for (const [id, factor] of [["timeline-in", 0.5], ["timeline-out", 2]]) {
    document.getElementById(id).addEventListener("click", () => zoom(factor));
  }
  document.getElementById("timeline-all").addEventListener("click", () => show(0, data.end));
  const legend = document.getElementById("timeline-legend");
  kinds.forEach((name, kind) => {
    if (!data.kinds.includes(kind)) return;
    const item = document.createElement("li"), spot = document.createElement("span");
    spot.style.cssText = "width:.8em;height:.8em;border-radius:2px;background:" + ["var(--limit)", "var(--c0)", "var(--c2)", "var(--c4)", "var(--c1)", "var(--c3)"][kind];
    item.append(spot, name);
    legend.append(item);
  });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  told.textContent = data.rows.length + " rows, " + data.rows.reduce((sum, row) => sum + row.calls.length, 0) + " calls, " + data.arrows.length + " arrows";
})();
