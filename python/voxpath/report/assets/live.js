// Shows what the links of a running network do, and sends what somebody changes of them.
"use strict";
(() => {
  const { colour, font, readable, steps, themed } = drawing;
  const EVERY_MS = 250;
  const SHOWN_S = 120; // of the past
  const CHARTS = [
    ["rate", "Rate, Mbit/s", (old, look, s) => (8e-6 * (look.served - old.served)) / s],
    ["queue", "Queue, packets", (old, look) => look.waiting],
    ["delay", "Delay of a packet that comes now, ms", (old, look) => look.delay / 1e6],
    ["loss", "Lost and dropped, packets a second", (old, look, s) => (look.lost - old.lost) / s],
  ];
  const KEYS = ["rate", "delay", "loss"];
  const made = (name, more = {}, ...inside) => {
    const element = Object.assign(document.createElement(name), more);
    element.append(...inside);
    return element;
  };
  const told = (id, text) => { document.getElementById(id).textContent = text; };
  const named = (way) => `${way.ends[0]} → ${way.ends[1]}`;

  const links = new Map(); // by name: its two directions, their looks, and what shows them
  let seen = 0; // looks that are here already

  class Link {
    constructor(ways, number) {
      this.ways = ways;
      this.looks = ways.map(() => []);
      const charts = made("div", { className: "charts" });
      this.charts = CHARTS.map(([kind, title, of]) => {
        const place = made("div", { className: "chart" });
        charts.append(made("div", { className: kind }, made("h3", { textContent: title }), place));
        return { of, place, plot: new uPlot(this.options(), [[], ...ways.map(() => [])], place) };
      });
      this.forms = ways.map((way, index) => this.form(way, index));
      const form = made("div", { className: "ways" }, ...this.forms.map((form) => form.set));
      const title = made("summary", {}, made("h2", { textContent: `${ways[0].link}: ${ways[0].ends.join(" – ")}` }));
      this.place = made("details", { className: "link", open: number < 2 }, title, charts, form);
      this.place.addEventListener("toggle", () => this.fit());
    }

    options() {
      const axis = (size) => ({
        stroke: () => colour("text"), font: font(), size, grid: { stroke: () => colour("rule"), width: 1 },
        ticks: { stroke: () => colour("rule"), width: 1, size: 4 }, values: (u, ticks) => ticks.map((tick) => readable(tick, 6)),
      });
      const line = (index) => ({ stroke: () => colour(`curve-${index}`), width: 1.75, points: { show: false } });
      return {
        width: 300, height: 160, legend: { show: false }, cursor: { show: false }, padding: [8, 8, 0, 0],
        series: [{}, ...this.ways.map((_, index) => line(index))],
        axes: [axis(28), { ...axis(56), incrs: (u, ...range) => steps(u.data.slice(1))(u, ...range) }],
        scales: { x: { time: false }, y: { range: (u, low, high) => [0, high > 0 ? 1.05 * high : 1] } },
      };
    }

    form(way, index) {
      const wrong = made("p", { className: "wrong" });
      wrong.setAttribute("role", "status");
      const fields = KEYS.map((key) => {
        const varies = way.varies[key];
        const id = `${way.link} ${way.way} ${key}`;
        const field = made("input", { id, name: key, autocomplete: "off", spellcheck: false });
        field.value = way[key];
        if (varies) field.placeholder = `by ${varies}`;
        if (varies) field.value = "";
        field.disabled = key === "rate" && Boolean(varies);
        if (key === "rate" && !varies && !way.rate) field.placeholder = "without bound";
        return field;
      });
      const swatch = made("i");
      swatch.style.borderColor = `var(--curve-${index})`;
      const rows = fields.map((field) => made("p", {}, made("label", { htmlFor: field.id, textContent: field.name }), field));
      const change = made("button", { textContent: "change" });
      const form = made("form", {}, ...rows, change, wrong);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const values = fields.filter((field) => field.value.trim() && field.value !== field.dataset.now);
        send(way, Object.fromEntries(values.map((field) => [field.name, field.value])), wrong);
      });
      fields.forEach((field) => { field.dataset.now = field.value; });
      return { fields, set: made("fieldset", {}, made("legend", {}, swatch, named(way)), form) };
    }

    // What a hand has not begun to write follows what the links are now.
    follow(way, index) {
      for (const field of this.forms[index].fields) {
        const now = way.varies[field.name] ? "" : way[field.name];
        if (field.value === field.dataset.now && document.activeElement !== field) field.value = now;
        field.dataset.now = now;
      }
    }

    take(index, look) {
      const looks = this.looks[index];
      looks.push(look);
      while (looks.length > 2 && look.time - looks[0].time > SHOWN_S) looks.shift();
    }

    draw() {
      if (!this.place.open) return;
      const times = this.looks[0].slice(1).map((look) => look.time);
      for (const { of, plot } of this.charts) {
        const values = this.looks.map((looks) =>
          looks.slice(1).map((look, i) => of(looks[i], look, look.time - looks[i].time)));
        plot.setData([times, ...values]);
      }
    }

    fit() {
      for (const { plot, place } of this.charts) plot.setSize({ width: Math.max(200, place.clientWidth), height: 160 });
      this.draw();
    }
  }

  const send = async (way, values, wrong) => {
    wrong.textContent = "";
    if (!Object.keys(values).length) { wrong.textContent = "nothing is changed"; return; }
    try {
      const answer = await fetch("changes", {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ link: way.link, ways: { [way.way]: values } }),
      });
      const answered = await answer.json();
      wrong.textContent = answer.ok ? "" : answered.wrong;
    } catch { wrong.textContent = "the run has ended"; }
  };

  const show = (state) => {
    state.links.forEach((way, index) => {
      if (!links.has(way.link)) {
        const link = new Link(state.links.filter((other) => other.link === way.link), links.size);
        links.set(way.link, link);
        document.querySelector("main").append(link.place);
        link.fit();
      }
      const link = links.get(way.link);
      const place = way.way === "up" ? 0 : 1;
      link.follow(way, place);
      for (const look of state.looks[index]) {
        const [time, served, waiting, delay, lost] = look;
        link.take(place, { time: time / 1e9, served, waiting, delay, lost });
      }
    });
    seen = state.seen;
    links.forEach((link) => link.draw());
    told("time", `${readable(state.time / 1e9, 4)} s`);
    told("count", String(state.changes.length));
    const list = document.getElementById("changes");
    while (list.childElementCount < state.changes.length)
      list.append(made("li", { textContent: state.changes[list.childElementCount] }));
  };

  const look = async () => {
    try {
      const answer = await fetch(`looks?after=${seen}`);
      if (!answer.ok) throw new Error(answer.statusText);
      show(await answer.json());
    } catch {
      told("state", "ended");
      document.querySelectorAll("main button").forEach((button) => { button.disabled = true; });
      return;
    }
    setTimeout(look, EVERY_MS);
  };

  themed(() => links.forEach((link) => link.draw()));
  addEventListener("resize", () => links.forEach((link) => link.fit()));
  look();
})();
