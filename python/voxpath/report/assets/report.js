// Draws the plots of a report from the numbers that stand below each, and makes them answer to mouse, touch and keys.
"use strict";
(() => {
  const root = document.documentElement;
  const HEIGHT = 300;
  const LOW = 170; // of plots one below the other
  const PRINT_WIDTHS = { alone: 660, beside: 320 };
  const ROOM = 0.03; // of the range, around the values
  const plots = [];

  const { colour, font, readable, steps, titled, themed } = drawing;
  const measured = (axis, value) =>
    axis.names ? axis.names[value] ?? "" : readable(value, 5) + (axis.unit ? ` ${axis.unit}` : "");

  // An empty cell is no value of this curve here; `nan` is a gap in it.
  const columnsOf = (text) => {
    const rows = text.trim().split("\n").slice(1).map((line) => line.split(","));
    const cell = (word) => (word === "" ? undefined : word === "nan" ? null : +word);
    return (rows[0] || []).map((_, column) => rows.map((row) => cell(row[column])));
  };

  // Ticks of a logarithmic axis: decades, with 2 and 5 between them where there is room, evenly spaced in a short range.
  const logTicks = (low, high) => {
    const decades = Math.log10(high / low);
    if (decades < 1) {
      const raw = (high - low) / 5;
      const power = 10 ** Math.floor(Math.log10(raw));
      const step = power * [1, 2, 5, 10].find((factor) => power * factor >= raw);
      const first = Math.ceil(low / step);
      return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => +((first + i) * step).toPrecision(12));
    }
    const found = [];
    const steps = decades > 3 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const step of steps) {
        const tick = +(step * 10 ** power).toPrecision(3);
        if (tick >= low && tick <= high) found.push(tick);
      }
    return found;
  };
  // Labels below a logarithmic axis, but for those that would run into the one before.
  const spaced = (u, ticks, texts) => {
    let end = -Infinity;
    return texts.map((text, i) => {
      const at = u.valToPos(ticks[i], "x"), half = 3.75 * text.length;
      if (at - half < end + 4) return "";
      end = at + half;
      return text;
    });
  };
  const padded = (axis, low, high, fromZero) => {
    if (axis.span) [low, high] = [Math.min(low ?? Infinity, axis.span[0]), Math.max(high ?? -Infinity, axis.span[1])];
    if (low == null || high == null) return axis.log ? [0.1, 1] : [0, 1];
    if (axis.log) {
      const factor = low === high ? 2 : (high / low) ** ROOM;
      return [low / factor, high * factor];
    }
    const room = axis.names ? 0.5 : low === high ? Math.abs(low) / 2 || 1 : (high - low) * ROOM;
    if (fromZero && low >= 0 && low <= 0.5 * high) return [0, high + room];
    return [low - room, high + room];
  };

  class Plot {
    constructor(figure) {
      this.figure = figure;
      this.place = figure.querySelector(".canvas");
      Object.assign(this, JSON.parse(figure.querySelector("script").textContent));
      const [xs, ...columns] = columnsOf(figure.querySelector(".numbers pre").textContent);
      const drawable = (axis) => (v) => (axis.log && v <= 0 && v != null ? null : v);
      const kept = (xs || []).map((x, i) => i).filter((i) => !this.x.log || xs[i] > 0);
      const pick = (column, map = (v) => v) => kept.map((i) => map(column[i]));
      this.data = [pick(xs || [])];
      this.series = [{}];
      this.bands = [];
      // Of many bands each is faint, so that curves are seen through all of them.
      const faint = Math.min(0.16, 0.5 / this.curves.filter((curve) => curve.interval).length);
      let column = 0;
      for (const curve of this.curves) {
        curve.at = this.series.length;
        this.data.push(pick(columns[column++] || [], drawable(this.y)));
        this.series.push(this.line(curve));
        if (!curve.interval) continue;
        for (let end = 0; end < 2; end++) {
          this.data.push(pick(columns[column++] || []));
          this.series.push({ ...this.line(curve), stroke: "transparent", width: 0, points: { show: false }, edge: true });
        }
        if (curve.style !== "points")
          this.bands.push({ series: [curve.at + 2, curve.at + 1], fill: () => colour(`curve-${curve.colour}`, faint) });
      }
      this.legend();
      this.chart = new uPlot(this.options(this.width()), this.data, this.place);
      this.controls();
      figure.dataset.drawn = `${this.chart.ctx.canvas.width}x${this.chart.ctx.canvas.height}`;
    }

    line(curve) {
      const stroke = () => colour(`curve-${curve.colour}`);
      const paths = { line: uPlot.paths.linear(), steps: uPlot.paths.stepped({ align: 1 }), points: () => null }[curve.style];
      const show = (u, i) => curve.style === "line" && u.data[0].length <= 60 && i === curve.at;
      return { stroke, paths, width: 1.75, dash: curve.dash, points: { show, size: 5, fill: stroke, width: 1 } };
    }

    options(width) {
      const axis = (of, extra) => ({
        stroke: () => colour("text"), font: font(), labelFont: font(), label: titled(of), labelSize: 22, labelGap: 2,
        grid: { stroke: () => colour("rule"), width: 1 }, ticks: { stroke: () => colour("rule"), width: 1, size: 5 },
        values: (u, ticks) => {
          const texts = ticks.map((tick) => (of.names ? of.names[tick] ?? "" : readable(tick, 6)));
          return of === this.x && of.log ? spaced(u, ticks, texts) : texts;
        },
        incrs: steps(of === this.y ? this.data.slice(1) : [this.data[0]]),
        ...(of.log && { splits: (u, i, low, high) => logTicks(low, high), filter: (u, ticks) => ticks }),
        ...(of.names && { splits: () => of.names.map((_, i) => i), grid: { show: false } }),
        ...extra,
      });
      return {
        width, height: this.height(), series: this.series, bands: this.bands, padding: [10, 14, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: false, distr: this.x.log ? 3 : 1, range: (u, low, high) => (this.whole(low, high) ? padded(this.x, low, high) : [low, high]) },
          y: { distr: this.y.log ? 3 : 1, range: (u, low, high) => padded(this.y, low, high, true) },
        },
        axes: [
          axis(this.x, { size: 30, space: this.x.names ? 1 : 60 }),
          axis(this.y, { size: (u, values) => 14 + 7 * Math.max(this.figure.closest(".together") ? 6 : 2, ...(values || []).map((v) => (v || "").length)) }),
        ],
        cursor: {
          drag: { x: true, y: true, uni: 40 }, points: { size: (u, i) => (this.curves.find((c) => c.at === i)?.style === "points" ? 0 : 8) },
          dataIdx: (u, series, index) => (this.series[series].edge ? null : this.nearest(series, index)),
        },
        hooks: {
          setCursor: [() => { this.tell(); this.others((other) => other.follow(this)); }],
          setScale: [(u, key) => {
            if (this.reset) this.reset.disabled = !this.zoomed();
            if (key === "x") this.others((other) => other.chart.setScale("x", { min: u.scales.x.min, max: u.scales.x.max }));
          }],
          draw: [(u) => this.points(u)],
        },
      };
    }

    // Plots over one axis do together what is done to one of them.
    others(act) {
      const group = this.figure.closest(".together");
      if (!group || Plot.busy || !this.reset) return;
      Plot.busy = true;
      try { plots.filter((other) => other !== this && other.figure.closest(".together") === group).forEach(act); }
      finally { Plot.busy = false; }
    }
    follow({ chart }) {
      const { left } = chart.cursor;
      const at = left == null || left < 0 ? -10 : this.chart.valToPos(chart.posToVal(left, "x"), "x");
      this.chart.setCursor({ left: at, top: at < 0 ? -10 : 0 });
    }

    width() { return Math.max(240, Math.floor(this.place.getBoundingClientRect().width)); }
    height() { return this.figure.closest(".together") ? LOW : HEIGHT; }
    whole(low, high) { const xs = this.data[0]; return low === xs[0] && high === xs[xs.length - 1]; }

    // The index at which a curve has something to say: what steps keep, else the nearest.
    nearest(series, index) {
      const ys = this.data[series];
      if (!series || index == null || ys[index] !== undefined) return index;
      let before = index, after = index;
      while (before >= 0 && ys[before] === undefined) before--;
      while (after < ys.length && ys[after] === undefined) after++;
      const curve = this.curves.find((c) => c.at === series);
      if (before < 0) return curve.style === "steps" || after === ys.length ? null : after;
      if (curve.style === "steps" || after === ys.length) return before;
      const xs = this.data[0];
      return xs[index] - xs[before] <= xs[after] - xs[index] ? before : after;
    }

    legend() {
      this.at = this.figure.querySelector(".legend .at");
      this.outputs = [...this.figure.querySelectorAll(".legend output")];
      this.figure.querySelectorAll(".legend button").forEach((button, i) => button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", shown);
        const { at, interval } = this.curves[i];
        for (let s = at; s <= at + (interval ? 2 : 0); s++) this.chart.setSeries(s, { show: shown });
      }));
    }

    tell() {
      const { idx, idxs } = this.chart.cursor;
      const none = idx == null;
      this.at.textContent = none ? "\u00a0" : `${this.x.label} ${measured(this.x, this.data[0][idx])}`;
      this.curves.forEach((curve, i) => {
        const index = none ? null : idxs[curve.at];
        const value = index == null ? null : this.data[curve.at][index];
        let text = value == null ? "" : measured(this.y, value);
        if (value != null && curve.interval) {
          const [low, high] = [1, 2].map((end) => this.data[curve.at + end][index]);
          if (low != null && high != null) text = `${readable(value, 5)} [${readable(low)}, ${readable(high)}]${this.y.unit ? ` ${this.y.unit}` : ""}`;
        }
        if (text && index !== idx && curve.style !== "steps") text += ` at ${measured(this.x, this.data[0][index])}`;
        this.outputs[i].textContent = text;
      });
    }

    // Points that nothing joins, with their intervals; over names the curves stand beside each other.
    points(u) {
      const { ctx } = u;
      const unit = devicePixelRatio;
      const curves = this.curves.filter((curve) => curve.style === "points");
      const place = (value) => u.valToPos(this.y.log && value <= 0 ? u.scales.y.min : value, "y", true);
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      ctx.lineWidth = 1.5 * unit;
      curves.forEach((curve, number) => {
        if (!u.series[curve.at].show) return;
        const [ys, lows, highs] = this.data.slice(curve.at, curve.at + (curve.interval ? 3 : 1));
        const aside = this.x.names ? (number - (curves.length - 1) / 2) * 12 * unit : 0;
        ctx.strokeStyle = colour(`curve-${curve.colour}`);
        ctx.fillStyle = curve.dash.length ? colour("page") : ctx.strokeStyle;
        this.data[0].forEach((value, i) => {
          if (ys[i] == null) return;
          const x = u.valToPos(value, "x", true) + aside;
          ctx.beginPath();
          if (lows?.[i] != null && highs[i] != null)
            for (const end of [lows[i], highs[i]].map(place)) {
              ctx.moveTo(x, place(ys[i])); ctx.lineTo(x, end);
              ctx.moveTo(x - 4 * unit, end); ctx.lineTo(x + 4 * unit, end);
            }
          ctx.stroke();
          ctx.beginPath();
          ctx.arc(x, place(ys[i]), 3.5 * unit, 0, 2 * Math.PI);
          ctx.fill(); ctx.stroke();
        });
      });
      ctx.restore();
    }

    // A place on an axis, as a fraction of what is shown, and the other way round.
    scale(key) {
      const { min, max } = this.chart.scales[key];
      const log = this[key].log;
      const [a, b] = log ? [Math.log(min), Math.log(max)] : [min, max];
      return (part) => (log ? Math.exp(a + (b - a) * part) : a + (b - a) * part);
    }
    zoomed() {
      const xs = this.data[0];
      const { x, y } = this.chart.scales;
      return x.min > xs[0] || x.max < xs[xs.length - 1] || (this.full && (y.min !== this.full.min || y.max !== this.full.max));
    }
    zoomX(from, to) {
      const at = this.scale("x");
      this.chart.setScale("x", { min: at(from), max: at(to) });
    }
    all() { this.chart.setData(this.data); }

    controls() {
      const bar = this.figure.querySelector("figcaption").insertAdjacentElement("afterend", document.createElement("div"));
      bar.className = "controls";
      this.reset = bar.appendChild(Object.assign(document.createElement("button"), { type: "button", textContent: "show all", disabled: true }));
      this.reset.addEventListener("click", () => this.all());
      const hint = matchMedia("(pointer: coarse)").matches ? "slide a finger to read, pinch to zoom" : "drag to zoom, double-click to show all";
      bar.append(Object.assign(document.createElement("span"), { textContent: hint }));
      queueMicrotask(() => { const { min, max } = this.chart.scales.y; this.full = { min, max }; });
      const over = this.chart.over;
      over.addEventListener("dblclick", () => this.all());
      this.touch(over);
      this.place.addEventListener("keydown", (event) => {
        const index = this.chart.cursor.idx ?? -1;
        const act = {
          ArrowLeft: () => this.point(Math.max(0, index - 1)),
          ArrowRight: () => this.point(Math.min(this.data[0].length - 1, index + 1)),
          "+": () => this.zoomX(0.2, 0.8), "-": () => this.zoomX(-1 / 3, 4 / 3), 0: () => this.all(),
        }[event.key];
        if (act) { act(); event.preventDefault(); }
      });
      new ResizeObserver(() => this.fit()).observe(this.place);
    }
    point(index) { this.chart.setCursor({ left: this.chart.valToPos(this.data[0][index], "x"), top: 0 }); }
    fit(width = this.width()) { if (width !== this.chart.width) this.chart.setSize({ width, height: this.height() }); }

    // One finger reads, two zoom; up and down remain the page's.
    touch(over) {
      const fingers = new Map();
      let start;
      const x = (event) => (event.clientX - over.getBoundingClientRect().left) / over.clientWidth;
      over.addEventListener("pointerdown", (event) => {
        if (event.pointerType !== "touch") return;
        fingers.set(event.pointerId, x(event));
        start = { at: this.scale("x"), places: [...fingers.values()] };
      });
      over.addEventListener("pointermove", (event) => {
        if (!fingers.has(event.pointerId)) return;
        fingers.set(event.pointerId, x(event));
        const now = [...fingers.values()];
        if (now.length === 1) return this.chart.setCursor({ left: now[0] * over.clientWidth, top: event.offsetY });
        if (now.length > 2 || Math.abs(now[1] - now[0]) < 0.02) return;
        const stretch = (start.places[1] - start.places[0]) / (now[1] - now[0]);
        const part = (place) => start.places[0] + (place - now[0]) * stretch;
        this.chart.setScale("x", { min: start.at(part(0)), max: start.at(part(1)) });
      });
      for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (event) => fingers.delete(event.pointerId));
    }
  }

  // What stands behind a cell of a map or an arrow of a ladder is told below it, for fingers too.
  const diagrams = () => document.querySelectorAll("figure.map, figure.ladder, figure.network").forEach((figure) => {
    const told = figure.querySelector(".told");
    for (const kind of ["pointerover", "click"])
      figure.addEventListener(kind, (event) => {
        const found = event.target.closest("[data-told]");
        if (found) told.textContent = found.dataset.told;
      });
  });

  // A voice: a click on the picture, or on a place where something was missing, plays from just before it; a line goes along.
  const voices = () => document.querySelectorAll("figure.voice").forEach((figure) => {
    const field = figure.querySelector(".field"), cursor = figure.querySelector(".cursor");
    const players = [...figure.querySelectorAll("audio")];
    const [left, span, seconds] = ["left", "span", "seconds"].map((name) => +field.dataset[name]);
    let chosen = players[Math.min(1, players.length - 1)];
    const show = () => {
      const x = left + span * Math.min(chosen.currentTime / seconds, 1);
      cursor.setAttribute("transform", `translate(${x} 0)`);
    };
    const follow = () => { show(); if (!chosen.paused) requestAnimationFrame(follow); };
    const playFrom = (at) => {
      chosen.currentTime = Math.max(0, at);
      show();
      // Before a visitor has touched the page, a browser may refuse.
      chosen.play().catch(() => {});
    };
    players.forEach((player) => {
      player.addEventListener("play", () => {
        if (player !== chosen && player.currentTime === 0) player.currentTime = chosen.currentTime < seconds - 0.1 ? chosen.currentTime : 0;
        chosen = player;
        follow();
      });
      player.addEventListener("seeked", () => { if (player === chosen) show(); });
    });
    field.addEventListener("click", (event) => {
      const box = field.getBoundingClientRect();
      playFrom(((event.clientX - box.left) / box.width) * seconds);
    });
    figure.querySelectorAll("button[data-at]").forEach((button) =>
      button.addEventListener("click", () => playFrom(+button.dataset.at - 0.5)));
    show();
  });

  // One sound at a time.
  document.addEventListener("play", (event) => document.querySelectorAll("audio").forEach((other) => {
    if (other !== event.target) other.pause();
  }), true);

  // The numbers of a figure as a file.
  const files = () => document.querySelectorAll("figure:has(.numbers)").forEach((figure) => {
    const numbers = figure.querySelector(".numbers");
    const link = Object.assign(document.createElement("a"), { textContent: "save as CSV", href: "#" });
    link.addEventListener("click", () => {
      const url = URL.createObjectURL(new Blob([numbers.querySelector("pre").textContent.trim() + "\n"], { type: "text/csv" }));
      link.href = url;
      link.download = `${figure.querySelector("h3").textContent.trim().replace(/[^\w.-]+/g, "-")}.csv`;
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    });
    numbers.querySelector("summary").after(link);
  });

  const redraw = () => plots.forEach((plot) => plot.chart.redraw(false));
  const printing = () => {
    let before;
    addEventListener("beforeprint", () => {
      before = root.dataset.theme;
      root.dataset.theme = "light";
      plots.forEach((plot) => plot.fit(PRINT_WIDTHS[plot.figure.closest(".beside") ? "beside" : "alone"]));
      redraw();
    });
    addEventListener("afterprint", () => {
      if (before) root.dataset.theme = before; else delete root.dataset.theme;
      plots.forEach((plot) => plot.fit());
      redraw();
    });
  };

  document.querySelectorAll("figure.plot").forEach((figure) => plots.push(new Plot(figure)));
  diagrams();
  voices();
  files();
  themed(redraw);
  printing();
  root.dataset.ready = plots.length;
})();
