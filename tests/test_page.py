"""The page of a report: what stands in it, that it needs nothing else, how it behaves in a browser."""

from __future__ import annotations

import dataclasses
import html
import io
import itertools
import math
import struct
import wave
from html.parser import HTMLParser
from pathlib import Path

import pytest

from browser import browse
from reports import REPORT, text_of
from voxpath.document import Axis, Curve, Plot, Section, Sound, Table
from voxpath.report.html import render
from voxpath.report.listening import wav
from voxpath.report.markup import exact, readable

HOSTILE = "</script></pre><b onload=x>&\"'`${1}<!--"


def hostile(value):
    """The same value with hostile words wherever a word is free."""
    free = {"title", "question", "caption", "label", "unit", "text", "reason", "name", "claim", "evidence"}
    free |= {"left", "right"}
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(
            value,
            **{
                field.name: HOSTILE if field.name in free else hostile(getattr(value, field.name))
                for field in dataclasses.fields(value)
                if field.name not in {"style", "scale", "fate", "mark"}
            },
        )
    if isinstance(value, (list, tuple)):
        return type(value)(hostile(inner) for inner in value)
    return HOSTILE if isinstance(value, str) else value


class Elements(HTMLParser):
    """The elements of a page, their attributes, and whether they are well nested."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_the_same_report_gives_the_same_bytes():
    assert render(REPORT) == render(dataclasses.replace(REPORT))


def test_every_part_is_there_to_be_read_without_a_script():
    seen = text_of(render(REPORT))
    parts = ["A report", "What does loss do?", "It takes 1.5 s.", "A pipe.", "10 Mbit/s", "50.1 ± 0.2"]
    parts += ["agrees", "50.0 against [49, 51]", "A note.", "holds: More loss", "does not hold: Never"]
    parts += ["undecided: Perhaps", "holds, not counted (the machine slept): Late"]
    parts += ["Goodput over loss", "SYN, ACK", "1.0400 s", "10 ms", 'name = "x"', "voxpath report x.toml"]
    # The numbers of figures.
    parts += ['loss [%],sim,"sim, low","sim, high",mathis,published,"published, low","published, high"']
    parts += ["0.01,30,20,40,32,,,", "1,3,2,4,nan,3.2,3,3.4", "0.04,nan,client,server,request,lost"]
    parts += ["rate 1 Mbit/s,1 %,50 ms,nan,"]
    # An interval stands in its cell of a map.
    parts += ["0.1 ± 0.021", "10 ± 1.2"]
    # Sounds are described.
    parts += ["before It hums. 0.2 s, mono, 8,000 Hz, −6.0 dB of full scale", "0.1 s, stereo, 16,000 Hz"]
    for part in parts:
        assert part in seen, part


@pytest.mark.parametrize(
    ("cells", "right"),
    [
        (["50.1 ± 0.2", "", "−3 %", "1.2 [0.9, …]"], True),
        (["5 Mbit/s", "100 packets", "1e-05", "9.99995e-06 s"], True),
        (["50.25 against [49, 51]", "3 against [2, 4]"], False),
        (["Table 4"], False),
        (["", ""], False),
    ],
)
def test_numbers_stand_on_the_right(cells: list[str], right: bool):
    table = Table("t", ["head"], [[cell] for cell in cells])
    page = render(dataclasses.replace(REPORT, sections=[Section("s", [table])]))
    assert ('<th scope="col" class="number">head' in page) == right


def test_a_logarithm_says_what_it_cannot_show():
    assert "left out: mathis (1)." in text_of(render(REPORT))


def test_hostile_words_stay_words(tmp_path: Path):
    page = render(hostile(REPORT))
    tags = {tag for tag, _ in Elements(page).found}
    assert "b" not in tags
    assert not any("onload" in attributes for _, attributes in Elements(page).found)
    assert Elements(page).found.count(("script", {})) == 1
    assert text_of(page).count("<b onload=x>") > 20
    drawn = browse(page, "return document.documentElement.dataset.ready", tmp_path)
    assert drawn == "3"


def test_the_page_loads_nothing():
    for tag, attributes in Elements(render(REPORT)).found:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        # Sounds stand in the page itself.
        assert tag == "audio" or "src" not in attributes
        assert (attributes.get("src") or "data:audio/wav;base64,").startswith("data:audio/wav;base64,")
        assert attributes.get("href", "#").startswith("#"), tag
    assert "url(" not in render(REPORT)
    assert "@import" not in render(REPORT)
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';' in render(REPORT)


def test_smuggled_scripts_and_styles_do_not_count(tmp_path: Path):
    smuggled = """<script>document.title = 'smuggled'</script><style>#p { color: red }</style>
      <p id=p style='color: red' onclick="document.title = 'smuggled'">x</p>"""
    page = render(REPORT).replace("<main>", f"<main>{smuggled}", 1)
    script = """
      const p = document.getElementById("p");
      p.click();
      await pause();
      // Here these problems are what is to be.
      const refused = problems.splice(0).flatMap((problem) => problem.match(/(?<=inline \\()[^,]*/) || []);
      return [document.title, getComputedStyle(p).color !== "rgb(255, 0, 0)", refused.sort()];
    """
    refused = ["script-src-attr", "script-src-elem", "style-src-attr", "style-src-elem"]
    assert browse(page, script, tmp_path) == [REPORT.title, True, refused]


def test_sounds_are_played_from_the_page_itself_and_by_keys(tmp_path: Path):
    script = """
      const players = [...document.querySelectorAll("audio")];
      const loaded = (player) =>
        player.readyState > 0 || new Promise((done) => player.onloadedmetadata = done);
      await Promise.all(players.map(loaded));
      const said = players.map((player) => [player.duration, player.getAttribute("aria-label")]);
      return [said, players.every((player) => player.controls && player.tabIndex >= 0)];
    """
    assert browse(render(REPORT), script, tmp_path) == [[[0.2, "before"], [0.1, "after"]], True]


@pytest.mark.parametrize("channels", [[], [[]], [[0.0], [0.0], [0.0]], [[0.0], [0.0, 1.0]]])
def test_what_is_no_sound_is_refused(channels: list[list[float]]):
    with pytest.raises(ValueError, match="hum: one or two channels"):
        wav(Sound("hum", "", 8_000, channels))


def test_sounds_are_clipped_not_wrapped():
    with wave.open(io.BytesIO(wav(Sound("hum", "", 8_000, [[2.0, -2.0, 0.5]])))) as file:
        assert struct.unpack("<3h", file.readframes(3)) == (32767, -32767, 16384)


def test_the_licence_of_the_chart_library_goes_with_it():
    assert "Permission is hereby granted, free of charge" in render(REPORT)


def test_a_large_report_stays_small():
    xs = [index / 7 for index in range(10_000)]
    curves = [Curve(f"curve {number}", xs, [math.sin(x * number) / 3 for x in xs]) for number in range(1, 6)]
    big = dataclasses.replace(
        REPORT, sections=[Section("Curves", [Plot("Waves", "", Axis("x"), Axis("y"), curves)])]
    )
    assert len(render(big)) < 1_000_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567.0, "1.235·10⁶"),
        (123456.0, "123\u202f500"),
        (-0.01234567, "−0.01235"),
        (0.00001, "10⁻⁵"),
        (10.0, "10"),
        (99999.99, "100\u202f000"),
        (2.5, "2.5"),
    ],
)
def test_numbers_are_written_for_people(value: float, text: str):
    assert readable(value) == text


def test_numbers_are_written_for_programs():
    assert [exact(value) for value in (1 / 3, None, math.inf, 1e-9, 12345678)] == [
        "0.333333",
        "nan",
        "nan",
        "1e-09",
        "1.23457e+07",
    ]


@pytest.mark.parametrize("counts", [[0.0, 0.0], [0.0, 2.0], [3.0, 40_000.0]])
def test_an_axis_of_counts_has_whole_ticks_and_one_of_zeros_begins_at_zero(
    counts: list[float], tmp_path: Path
):
    times = [0.25, 0.75]
    plot = Plot("Losses", "", Axis("time", "s"), Axis("losses"), [Curve("lost", times, counts)])
    report = dataclasses.replace(REPORT, lead=None, sections=[Section("Lost", [plot])])
    script = """
      const written = [];
      const write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
        written.push([this.textAlign, text]);
        return write.call(this, text, ...where);
      };
      document.getElementById("theme").click(); await pause();
      return written;
    """
    written = browse(render(report), script, tmp_path)
    assert {"losses", "0.5"} <= {text for _, text in written}, "time is not counted"
    beside = [text for align, text in written if align == "right"]
    assert "0" in beside
    assert len(beside) > 1
    assert [text for text in beside if "." in text or text.startswith("−")] == []


def test_labels_of_a_narrow_logarithmic_axis_do_not_run_into_each_other(tmp_path: Path):
    sizes = [10.0**power for power in range(12)]
    plot = Plot("Time", "", Axis("payload", "B", "log"), Axis("time", "s"), [Curve("a", sizes, sizes)])
    report = dataclasses.replace(REPORT, lead=None, sections=[Section("Narrow", [plot])])
    script = """
      const written = [];
      const write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
        const { e, f } = this.getTransform();
        const { width } = this.measureText(text);
        if (this.textAlign === "center" && text) written.push([y + f, x + e, width, text]);
        return write.call(this, text, x, y, ...more);
      };
      document.getElementById("theme").click(); await pause();
      return written;
    """
    written = browse(render(report), script, tmp_path, width=500)
    (row,) = {round(y) for y, _, _, text in written if text == "10"}
    labels = sorted((x - width / 2, x + width / 2, text) for y, x, width, text in written if round(y) == row)
    assert {"1", "10", "100"} <= {text for _, _, text in labels}
    assert all(end < start for (_, end, _), (start, _, _) in itertools.pairwise(sorted(set(labels))))


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory):
    """What a visitor of the report meets, all in one visit: a browser starts slowly."""
    script = """
      const [plot, steps] = document.querySelectorAll("figure.plot");
      const legend = (figure) =>
        [...figure.querySelectorAll(".legend .at, .legend output")].map((told) => told.textContent);
      const reset = (figure) => figure.querySelector(".controls button");
      const inked = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
        .data.filter((value, index) => index % 4 === 3 && value > 0).length;
      const found = { drawn: [...document.querySelectorAll(".canvas canvas")].map(inked) };
      const over = plot.querySelector(".u-over");
      mouse(over, "mousemove", 0.66, 0.5); await pause();
      found.hover = legend(plot);
      mouse(steps.querySelector(".u-over"), "mousemove", 0.8, 0.5); await pause();
      found.steps = legend(steps);
      found.whole = reset(plot).disabled;
      mouse(over, "mousedown", 0.3, 0.5, { button: 0 });
      mouse(over, "mousemove", 0.6, 0.5, { movementX: 9 }); await pause();
      mouse(over, "mouseup", 0.6, 0.5, { button: 0 }); await pause();
      found.zoomed = !reset(plot).disabled;
      reset(plot).click(); await pause();
      found.reset = reset(plot).disabled;
      const key = async (name) => {
        const pressed = new KeyboardEvent("keydown", { key: name, bubbles: true });
        plot.querySelector(".canvas").dispatchEvent(pressed);
        await pause();
      };
      await key("+"); found.keyZoomed = !reset(plot).disabled;
      await key("0"); found.keyReset = reset(plot).disabled;
      mouse(over, "mousemove", 0.01, 0.5); await pause();
      found.first = legend(plot)[0]; await key("ArrowRight"); found.next = legend(plot)[0];
      const before = inked(plot.querySelector("canvas"));
      plot.querySelector(".legend button").click(); await pause();
      found.hidden = before - inked(plot.querySelector("canvas"));
      const touch = (type, id, x) => {
        const box = over.getBoundingClientRect();
        over.dispatchEvent(new PointerEvent(type, { pointerType: "touch", pointerId: id, bubbles: true,
          clientX: box.left + x * box.width, clientY: box.top + box.height / 2 }));
      };
      touch("pointerdown", 1, 0.4); touch("pointerdown", 2, 0.6);
      touch("pointermove", 1, 0.2); touch("pointermove", 2, 0.8); await pause();
      found.pinched = !reset(plot).disabled;
      touch("pointerup", 1, 0.2); touch("pointerup", 2, 0.8); reset(plot).click(); await pause();
      document.querySelector(".cell").dispatchEvent(new MouseEvent("click", { bubbles: true }));
      found.cell = document.querySelector("figure.map .told").textContent;
      document.querySelector(".segment.lost").dispatchEvent(new MouseEvent("click", { bubbles: true }));
      found.segment = document.querySelector("figure.ladder .told").textContent;
      const page = () => getComputedStyle(document.body).backgroundColor;
      found.light = page(); document.getElementById("theme").click(); found.dark = page();
      dispatchEvent(new Event("beforeprint")); await pause();
      found.printed = [page(), plot.querySelector("canvas").getBoundingClientRect().width];
      dispatchEvent(new Event("afterprint")); found.after = page();
      const link = plot.querySelector(".numbers a");
      let blob;
      URL.createObjectURL = (made) => { blob = made; return "#"; };
      link.click();
      found.file = [link.download, await blob.text()];
      return found;
    """
    return browse(render(REPORT), script, tmp_path_factory.mktemp("browser"))


def test_every_plot_is_drawn(visited):
    assert len(visited["drawn"]) == 3
    assert min(visited["drawn"]) > 1000


def test_the_pointer_reads_values_with_interval_and_unit(visited):
    assert visited["hover"] == ["loss 1 %", "3 [2, 4] Mbit/s", "", "3.2 [3, 3.4] Mbit/s"]


def test_steps_keep_their_value_until_the_next_one(visited):
    assert visited["steps"] == ["time 2.5 s", "1\u202f460 B", "6\u202f000 B"]


def test_dragging_zooms_and_the_button_shows_everything(visited):
    assert (visited["whole"], visited["zoomed"], visited["reset"]) == (True, True, True)


def test_keys_zoom_and_walk(visited):
    assert (visited["keyZoomed"], visited["keyReset"]) == (True, True)
    assert (visited["first"], visited["next"]) == ("loss 0.01 %", "loss 0.05 %")


def test_two_fingers_zoom(visited):
    assert visited["pinched"]


def test_a_curve_is_hidden_by_its_name(visited):
    assert visited["hidden"] > 500


def test_cells_and_arrows_tell_what_they_are(visited):
    assert visited["cell"] == "rate 1 Mbit/s, loss 0 %, delay 10 ms: completion 0.1 s (n = 3)"
    assert visited["segment"] == "request: client to server, sent 0.040000 s, is lost"


def test_the_theme_is_switched_and_paper_is_light(visited):
    assert visited["light"] != visited["dark"] == visited["after"]
    assert visited["printed"][0] == visited["light"]
    assert 300 <= visited["printed"][1] <= 700


def test_the_numbers_of_a_figure_are_saved_as_they_stand(visited):
    name, text = visited["file"]
    assert name == "Goodput-over-loss.csv"
    assert text.splitlines()[1] == "0.01,30,20,40,32,,,"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_phone_has_to_scroll_a_page_sideways(scheme: str, tmp_path: Path):
    # Chromium's window is 500 wide at least; a frame is as narrow as a phone.
    framed = f'<iframe width="390" height="800" srcdoc="{html.escape(render(REPORT))}"></iframe>'
    script = """
      const frame = document.querySelector("iframe");
      while (!frame.contentDocument?.documentElement?.dataset.ready) await pause();
      const inner = frame.contentDocument.documentElement;
      return [inner.scrollWidth <= inner.clientWidth, inner.clientWidth > 350,
        matchMedia("(prefers-color-scheme: dark)").matches];
    """
    frame = f"<html><head></head><body>{framed}</body></html>"
    assert browse(frame, script, tmp_path, scheme=scheme) == [True, True, scheme == "dark"]
