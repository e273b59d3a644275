// The page of `stiction explore`. Words from data become text nodes, never markup; the only
// documents that are made from data are the player's, in frames that reach nothing.

const GROUPS = { system: "system", method: "method", solve: "time" };
const FRAME_MS = 30;
const TYPED_MS = 250;
const LATE_MS = 1500;

function made(kind, more = {}, ...inner) {
  const node = document.createElement(kind);
  for (const [name, value] of Object.entries(more)) {
    if (name.startsWith("on")) { node.addEventListener(name.slice(2), value); }
    else if (name in node && name !== "list") { node[name] = value; }
    else { node.setAttribute(name, value); }
  }
  node.append(...inner);
  return node;
}

function short(value) {
  const text = String(Number(value.toPrecision(6)));
  return text === "NaN" ? String(value) : text;
}

export function render({ model }) {
  const say = (told) => model.send_msg(told);
  const inputs = new Map();
  let names = 0, busy = false, live = false, frame = null, coming = null, timers = new Map();
  let sent = 0, waiting = null;
  const id = (word) => `x${word}${names += 1}`;

  // ---- parts of the page

  const title = made("h1", { textContent: "stiction explore" });
  const folder = made("span", { className: "soft" });
  const chooser = made("select", { id: id("s"), onchange: () => say({ do: "choose", name: chooser.value }) });
  const opener = made("select", { id: id("o") });
  const open = made("button", { type: "button", textContent: "Open",
    onclick: () => { if (opener.value) { say({ do: "open", name: opener.value }); } } });
  const again = made("button", { type: "button", textContent: "Look again",
    onclick: () => say({ do: "folder" }) });
  const about = made("div", { className: "about" });
  const form = made("form", { noValidate: true, onsubmit: (event) => { event.preventDefault(); run(); } });
  const fields = made("div", { className: "fields" });
  const button = made("button", { type: "submit", className: "run", textContent: "Run" });
  const stop = made("button", { type: "button", textContent: "Stop", disabled: true,
    onclick: () => say({ do: "stop" }) });
  const guess = made("span", { className: "soft", id: id("g") });
  const auto = made("input", { type: "checkbox", checked: true, id: id("a") });
  const bar = made("progress", { max: 1, value: 0, hidden: true });
  bar.setAttribute("aria-label", "progress of the run");
  const note = made("span", { className: "soft", role: "status" });
  const fault = made("div", { className: "fault", role: "alert" });
  const file = made("input", { type: "text", id: id("f"), value: "mine.toml", spellcheck: false });
  const replace = made("input", { type: "checkbox", id: id("r") });
  const save = made("button", { type: "button", textContent: "Save as TOML",
    onclick: () => say({ do: "save", name: file.value, overwrite: replace.checked }) });
  const kept = made("span", { className: "soft", role: "status" });
  const verdicts = made("ul", { className: "verdicts" });
  const stage = made("div", { className: "stage" });
  const figures = made("select", { id: id("p"), onchange: () => { drawn(); } });
  const picture = made("div", { className: "picture" });
  const tables = made("div", { className: "tables" });
  const summary = made("pre", { tabIndex: 0 });
  summary.setAttribute("aria-label", "summary of the run");
  const label = (text, node) => made("label", { htmlFor: node.id, textContent: text });

  form.append(fields, made("div", { className: "row" }, button, stop, guess),
    made("div", { className: "row" }, auto, label("run as I move", auto)));
  const left = made("section", { className: "left" },
    made("div", { className: "row" }, label("scenario", chooser), chooser), about, form,
    made("h2", { textContent: "save" }),
    made("div", { className: "row" }, label("file", file), file),
    made("div", { className: "row" }, replace, label("replace", replace), save),
    kept,
    made("h2", { textContent: "saved in the folder" }), folder,
    made("div", { className: "row" }, label("load", opener), opener, open, again));
  left.setAttribute("aria-label", "what is run");
  const shown = made("details", {}, made("summary", { textContent: "summary" }), summary);
  const outcome = made("div", { className: "outcome" },
    made("div", { className: "row" }, bar, note), fault, verdicts, stage);
  const right = made("section", { className: "right" }, tables, shown,
    made("div", { className: "row" }, label("figure", figures), figures), picture);
  right.setAttribute("aria-label", "what came out");
  const main = made("main", {}, title, made("div", { className: "columns" }, left, right));

  // on a phone the picture stands above the sliders, also for those who go from one to the next
  const narrow = window.matchMedia("(max-width: 760px)");
  const place = () => { if (narrow.matches) { about.after(outcome); } else { right.prepend(outcome); } };
  narrow.addEventListener("change", place);
  place();

  // ---- what is done

  function run() { fault.replaceChildren(); say({ do: "run" }); }

  function set(path, value) {
    // of the moves of a slider within a frame the last one counts
    const message = { do: "set", path, value, live: auto.checked };
    const now = performance.now();
    clearTimeout(waiting?.timer);
    if (waiting && waiting.message.path !== path) { say(waiting.message); }
    waiting = null;
    if (now - sent >= FRAME_MS) { sent = now; say(message); return; }
    waiting = { message, timer: setTimeout(() => {
      sent = performance.now();
      say(message);
      waiting = null;
    }, FRAME_MS) };
  }

  function field(told) {
    const box = made("input", { type: "text", inputMode: "decimal", id: id("b"), value: short(told.value) });
    const slider = made("input", { type: "range", id: id("r") });
    const wrong = made("div", { className: "wrong", id: id("w") });
    const name = told.path.replace(/^\w+\./, "");
    const log = (value) => told.powers ? Math.log10(value) : value;
    slider.min = log(told.low);
    slider.max = log(told.high);
    slider.step = told.step;
    if (!told.whole) { slider.step = "any"; }
    slider.value = log(told.value);
    slider.setAttribute("aria-label", `${name}, slider`);
    box.setAttribute("aria-describedby", wrong.id);
    const aloud = (value) => slider.setAttribute("aria-valuetext", short(value));
    aloud(told.value);
    slider.addEventListener("input", () => {
      let value = Number(slider.value);
      if (told.powers) { value = 10 ** (Math.round(value / told.step) * told.step); }
      else if (!told.whole) { value = Math.round(value / told.step) * told.step; }
      value = Number(value.toPrecision(6));
      value = Math.min(Math.max(value, told.low), told.high);
      box.value = short(value);
      aloud(value);
      clear(told.path);
      set(told.path, value);
    });
    slider.addEventListener("keydown", (event) => {
      // a step by a key is the step of the slider, which the browser does not know
      const sign = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!sign || told.whole) { return; }
      event.preventDefault();
      slider.value = Number(slider.value) + sign * told.step;
      slider.dispatchEvent(new Event("input"));
    });
    box.addEventListener("input", () => {
      clearTimeout(timers.get(told.path));
      timers.set(told.path, setTimeout(() => typed(), TYPED_MS));
    });
    box.addEventListener("change", () => { clearTimeout(timers.get(told.path)); typed(); });
    function typed() {
      const text = box.value.trim(), value = Number(text);
      clear(told.path);
      if (text !== "" && Number.isFinite(value)) { slider.value = log(value); aloud(value); }
      // what is no number is sent too: the answer says what is wrong with it
      set(told.path, text !== "" && Number.isFinite(value) ? value : text);
    }
    inputs.set(told.path, { box, slider, wrong });
    const words = made("span", { className: "soft", textContent: told.words ? ` ${told.words}` : "" });
    return made("div", { className: "field" },
      made("label", { htmlFor: box.id }, name, words), made("div", { className: "pair" }, slider, box), wrong);
  }

  function clear(path) {
    const found = inputs.get(path);
    if (found) {
      found.wrong.textContent = "";
      found.box.removeAttribute("aria-invalid");
    }
  }

  function drawn() { if (figures.value) { say({ do: "figure", name: figures.value }); } }

  function lines(node, text) {
    node.replaceChildren(...text.split("\n").map((line) => made("p", { textContent: line })));
  }

  function film(page, why) {
    if (!page) {
      coming = null;
      frame = null;
      stage.replaceChildren();
      lines(stage, why || "");
      return;
    }
    // the new picture takes the place of the old one when it is there
    const next = made("iframe", { title: "motion of the run", className: "coming" });
    next.setAttribute("sandbox", "allow-scripts");
    next.srcdoc = page;
    coming?.remove();
    coming = next;
    const take = () => {
      if (coming !== next) { return; }
      next.classList.remove("coming");
      for (const old of [...stage.children]) { if (old !== next) { old.remove(); } }
      frame = next;
      coming = null;
      stage.dataset.shown = String(Number(stage.dataset.shown || 0) + 1);
    };
    next.take = take;
    // a page that cannot unpack its picture says so itself
    next.addEventListener("load", () => setTimeout(take, LATE_MS));
    stage.append(next);
  }

  function table(told) {
    const head = made("tr", {}, ...told.head.map((text) => made("th", { scope: "col", textContent: text })));
    const rows = told.rows.map((row) => made("tr", {}, ...row.map((text) => made("td", { textContent: text }))));
    const inside = made("div", { className: "wide", tabIndex: 0, role: "region" },
      made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)));
    inside.setAttribute("aria-label", told.title);
    const words = told.rows.length ? [inside] : [made("p", { className: "soft", textContent: "none" })];
    if (told.note) { words.push(made("p", { className: "soft", textContent: told.note })); }
    const wanted = opened.has(told.title.replace(/ \(.*/, ""));
    const node = made("details", { open: wanted }, made("summary", { textContent: told.title }), ...words);
    node.addEventListener("toggle", () => {
      const key = told.title.replace(/ \(.*/, "");
      if (node.open) { opened.add(key); } else { opened.delete(key); }
    });
    return node;
  }
  const opened = new Set(["events"]);

  function idle(now) {
    busy = !now;
    stop.disabled = now;
    bar.hidden = now;
    main.setAttribute("aria-busy", String(!now));
    if (now) { note.textContent = ""; }
  }

  // ---- what is told

  const heard = {
    catalogue(told) {
      const groups = new Map();
      for (const one of told.scenarios) {
        if (!groups.has(one.system)) { groups.set(one.system, made("optgroup", { label: one.system })); }
        groups.get(one.system).append(made("option", { value: one.name, textContent: one.name, title: one.title }));
      }
      chooser.replaceChildren(...groups.values());
      folder.textContent = `working folder: ${told.folder}`;
    },
    folder(told) {
      const before = opener.value;
      const none = made("option", { value: "", textContent: told.places.length ? "choose" : "nothing saved yet" });
      opener.replaceChildren(none, ...told.places.map((one) =>
        made("option", { value: one.name, textContent: `${one.kind}: ${one.name}` })));
      opener.value = told.places.some((one) => one.name === before) ? before : "";
    },
    scenario(told) {
      const known = [...chooser.options].some((one) => one.value === told.name);
      if (known) { chooser.value = told.name; } else { chooser.selectedIndex = -1; }
      inputs.clear();
      idle(true);
      waiting = null;
      fault.replaceChildren();
      kept.textContent = "";
      const source = [told.paper, told.figure].filter((text) => text).join(", ");
      about.replaceChildren(
        made("p", {}, made("strong", { textContent: told.title || told.name })),
        made("p", { className: "soft", textContent: [told.system, source].filter((text) => text).join(" · ") }),
        ...(told.note ? [made("details", {}, made("summary", { textContent: "note" }),
          made("p", { textContent: told.note }))] : []));
      const groups = new Map();
      for (const one of told.fields) {
        const root = one.path.split(".")[0];
        if (!groups.has(root)) {
          groups.set(root, made("fieldset", {}, made("legend", { textContent: GROUPS[root] || root })));
        }
        groups.get(root).append(field(one));
      }
      fields.replaceChildren(...groups.values());
      main.dataset.scenario = told.name;
    },
    estimate(told) {
      const words = told.live ? "runs as you move" : told.too_large ? "too large for a page" : "press Run";
      guess.textContent = `${told.text}: ${words}`;
      guess.classList.toggle("bad", told.too_large);
      live = told.live;
    },
    begins(told) {
      idle(false);
      fault.replaceChildren();
      bar.removeAttribute("value");
      bar.classList.toggle("quiet", told.live && live);
      note.textContent = told.live && live ? "" : "running";
    },
    progress(told) {
      bar.value = told.part;
      note.textContent = `${Math.round(100 * told.part)} %, ${told.note}`;
    },
    result(told) {
      idle(true);
      fault.replaceChildren();
      verdicts.replaceChildren(...told.verdicts.map(([name, good, text]) =>
        made("li", { className: good ? "good" : "bad" }, made("strong", { textContent: `${good ? "✓" : "✗"} ${name}` }),
          ` ${text}`)));
      film(told.page, told.why);
      tables.replaceChildren(...told.tables.map(table));
      summary.textContent = told.screen;
      const before = figures.value;
      figures.replaceChildren(made("option", { value: "", textContent: told.figures.length ? "none" : "no figures" }),
        ...told.figures.map((name) => made("option", { value: name, textContent: name.replaceAll("_", " ") })));
      figures.value = told.figures.includes(before) ? before : "";
      if (!figures.value) { picture.replaceChildren(); }
      picture.classList.toggle("stale", Boolean(figures.value));
      main.dataset.results = String(Number(main.dataset.results || 0) + 1);
    },
    figure(told) {
      const bytes = new TextEncoder().encode(told.svg);
      let text = "";
      for (let k = 0; k < bytes.length; k += 8192) { text += String.fromCharCode(...bytes.subarray(k, k + 8192)); }
      picture.classList.remove("stale");
      picture.replaceChildren(made("img", { alt: `figure: ${told.name.replaceAll("_", " ")}`,
        src: `data:image/svg+xml;base64,${btoa(text)}` }));
    },
    saved(told) {
      fault.replaceChildren();
      kept.textContent = `saved as ${told.name}; stiction run ${told.name} runs it again`;
      replace.checked = false;
    },
    error(told) {
      if (told.about === "run" || told.about === "open") { idle(true); }
      const found = inputs.get(told.field);
      if (found) {
        found.wrong.textContent = told.text.split("\n")[0];
        found.box.setAttribute("aria-invalid", "true");
      }
      lines(fault, told.text);
    },
  };

  model.on("msg:custom", (event) => {
    const told = event.data ?? event;
    if (Object.hasOwn(heard, told.kind)) { heard[told.kind](told); }
  });
  window.addEventListener("message", (event) => {
    const found = /^player ready (\d{1,5})$/.exec(String(event.data));
    const from = [coming, frame].find((one) => one && one.contentWindow === event.source);
    if (!found || !from) { return; }
    from.style.height = `${Math.min(Math.max(Number(found[1]) + 4, 160), 2000)}px`;
    if (from === coming) { from.take(); }
  });
  main.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && busy) { say({ do: "stop" }); }
  });
  say({ do: "hello" });
  return main;
}
