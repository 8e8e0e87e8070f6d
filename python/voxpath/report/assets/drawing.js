// What every script of ours that draws plots has: colours and fonts of the style sheet, numbers for people, light and dark.
"use strict";
const drawing = (() => {
  // Canvases need colours as such; a probe turns what the style sheet says into them.
  const probe = document.body.appendChild(Object.assign(document.createElement("i"), { hidden: true }));
  const colour = (name, alpha = 1) => {
    probe.style.color = `var(--${name})`;
    const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g);
    return `rgba(${r},${g},${b},${alpha})`;
  };
  const font = (weight = "") => `${weight} 12px ${getComputedStyle(document.body).fontFamily}`.trim();

  const superscript = (n) => [...String(n)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  const readable = (value, digits = 4) => {
    if (value === 0 || !Number.isFinite(value)) return String(value);
    const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
    if (exponent >= -4 && exponent < 6) {
      const [whole, part] = String(+value.toPrecision(Math.max(digits, exponent + 1))).split(".");
      return (whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (part ? `.${part}` : "")).replace("-", "−");
    }
    const mantissa = +(value / 10 ** exponent).toPrecision(digits);
    return (mantissa === 1 ? "" : `${mantissa}·`.replace("-", "−")) + `10${superscript(exponent)}`;
  };
  // Distances of ticks: uPlot's own, and of these whole ones where all values are counts, unless somebody has zoomed in between two.
  const INCREMENTS = Array.from({ length: 256 }, (_, i) => +`${[1, 2, 2.5, 5][i % 4]}e${Math.floor(i / 4) - 32}`);
  const steps = (columns) => {
    const counts = columns.every((column) => column.every((value) => value == null || Number.isInteger(value)));
    return (u, axis, low, high) => (counts && high - low >= 1 ? INCREMENTS.filter(Number.isInteger) : INCREMENTS);
  };
  const titled = (axis) => (axis.unit ? `${axis.label}, ${axis.unit}` : axis.label);

  // The button that changes between light and dark; `redraw` draws again what has colours of its own.
  const themed = (redraw) => {
    const root = document.documentElement;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const button = document.getElementById("theme");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
    const show = () => { button.textContent = isDark() ? "light" : "dark"; redraw(); };
    button.hidden = false;
    button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; show(); });
    dark.addEventListener("change", show);
    show();
  };
  return { colour, font, readable, steps, titled, themed };
})();
