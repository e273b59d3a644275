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
  const say = (message) => model.send_msg(message);
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

  function field(message) {
    const box = made("input", { type: "text", inputMode: "decimal", id: id("b"), value: short(message.value) });
    const slider = made("input", { type: "range", id: id("r") });
    const wrong = made("div", { className: "wrong", id: id("w") });
    const name = message.path.replace(/^\w+\./, "");
    const log = (value) => message.powers ? Math.log10(value) : value;
    slider.min = log(message.low);
    slider.max = log(message.high);
    slider.step = message.step;
    if (!message.whole) { slider.step = "any"; }
    slider.value = log(message.value);
    slider.setAttribute("aria-label", `${name}, slider`);
    box.setAttribute("aria-describedby", wrong.id);
    const aloud = (value) => slider.setAttribute("aria-valuetext", short(value));
    aloud(message.value);
    slider.addEventListener("input", () => {
      let value = Number(slider.value);
      if (message.powers) { value = 10 ** (Math.round(value / message.step) * message.step); }
      else if (!message.whole) { value = Math.round(value / message.step) * message.step; }
      value = Number(value.toPrecision(6));
      value = Math.min(Math.max(value, message.low), message.high);
      box.value = short(value);
      aloud(value);
      clear(message.path);
      set(message.path, value);
    });
    slider.addEventListener("keydown", (event) => {
      // a step by a key is the step of the slider, which the browser does not know
      const sign = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!sign || message.whole) { return; }
      event.preventDefault();
      slider.value = Number(slider.value) + sign * message.step;
      slider.dispatchEvent(new Event("input"));
    });
    box.addEventListener("input", () => {
      clearTimeout(timers.get(message.path));
      timers.set(message.path, setTimeout(() => typed(), TYPED_MS));
    });
    box.addEventListener("change", () => { clearTimeout(timers.get(message.path)); typed(); });
    function typed() {
      const text = box.value.trim(), value = Number(text);
      clear(message.path);
      if (text !== "" && Number.isFinite(value)) { slider.value = log(value); aloud(value); }
      // what is no number is sent too: the answer says what is wrong with it
      set(message.path, text !== "" && Number.isFinite(value) ? value : text);
    }
    inputs.set(message.path, { box, slider, wrong });
    const words = made("span", { className: "soft", textContent: message.words ? ` ${message.words}` : "" });
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

  function table(message) {
    const head = made("tr", {}, ...message.head.map((text) => made("th", { scope: "col", textContent: text })));
    const rows = message.rows.map((row) => made("tr", {}, ...row.map((text) => made("td", { textContent: text }))));
    const inside = made("div", { className: "wide", tabIndex: 0, role: "region" },
      made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)));
    inside.setAttribute("aria-label", message.title);
    const words = message.rows.length ? [inside] : [made("p", { className: "soft", textContent: "none" })];
    if (message.note) { words.push(made("p", { className: "soft", textContent: message.note })); }
    const wanted = opened.has(message.title.replace(/ \(.*/, ""));
    const node = made("details", { open: wanted }, made("summary", { textContent: message.title }), ...words);
    node.addEventListener("toggle", () => {
      const key = message.title.replace(/ \(.*/, "");
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

  // ---- messages of the server

  const heard = {
    catalogue(message) {
      const groups = new Map();
      for (const one of message.scenarios) {
        if (!groups.has(one.system)) { groups.set(one.system, made("optgroup", { label: one.system })); }
        groups.get(one.system).append(made("option", { value: one.name, textContent: one.name, title: one.title }));
      }
      chooser.replaceChildren(...groups.values());
      folder.textContent = `working folder: ${message.folder}`;
    },
    folder(message) {
      const before = opener.value;
      const none = made("option", { value: "", textContent: message.places.length ? "choose" : "nothing saved yet" });
      opener.replaceChildren(none, ...message.places.map((one) =>
        made("option", { value: one.name, textContent: `${one.kind}: ${one.name}` })));
      opener.value = message.places.some((one) => one.name === before) ? before : "";
    },
    scenario(message) {
      const known = [...chooser.options].some((one) => one.value === message.name);
      if (known) { chooser.value = message.name; } else { chooser.selectedIndex = -1; }
      inputs.clear();
      idle(true);
      waiting = null;
      fault.replaceChildren();
      kept.textContent = "";
      const source = [message.paper, message.figure].filter((text) => text).join(", ");
      about.replaceChildren(
        made("p", {}, made("strong", { textContent: message.title || message.name })),
        made("p", { className: "soft", textContent: [message.system, source].filter((text) => text).join(" · ") }),
        ...(message.note ? [made("details", {}, made("summary", { textContent: "note" }),
          made("p", { textContent: message.note }))] : []));
      const groups = new Map();
      for (const one of message.fields) {
        const root = one.path.split(".")[0];
        if (!groups.has(root)) {
          groups.set(root, made("fieldset", {}, made("legend", { textContent: GROUPS[root] || root })));
        }
        groups.get(root).append(field(one));
      }
      fields.replaceChildren(...groups.values());
      main.dataset.scenario = message.name;
    },
    estimate(message) {
      const words = message.live ? "runs as you move" : message.too_large ? "too large for a page" : "press Run";
      guess.textContent = `${message.text}: ${words}`;
      guess.classList.toggle("bad", message.too_large);
      live = message.live;
    },
    begins(message) {
      idle(false);
      fault.replaceChildren();
      bar.removeAttribute("value");
      bar.classList.toggle("quiet", message.live && live);
      note.textContent = message.live && live ? "" : "running";
    },
    progress(message) {
      bar.value = message.part;
      note.textContent = `${Math.round(100 * message.part)} %, ${message.note}`;
    },
    result(message) {
      idle(true);
      fault.replaceChildren();
      verdicts.replaceChildren(...message.verdicts.map(([name, good, text]) =>
        made("li", { className: good ? "good" : "bad" }, made("strong", { textContent: `${good ? "✓" : "✗"} ${name}` }),
          ` ${text}`)));
      film(message.page, message.why);
      tables.replaceChildren(...message.tables.map(table));
      summary.textContent = message.screen;
      const before = figures.value;
      figures.replaceChildren(made("option", { value: "", textContent: message.figures.length ? "none" : "no figures" }),
        ...message.figures.map((name) => made("option", { value: name, textContent: name.replaceAll("_", " ") })));
      figures.value = message.figures.includes(before) ? before : "";
      if (!figures.value) { picture.replaceChildren(); }
      picture.classList.toggle("stale", Boolean(figures.value));
      main.dataset.results = String(Number(main.dataset.results || 0) + 1);
    },
    figure(message) {
      const bytes = new TextEncoder().encode(message.svg);
      let text = "";
      for (let k = 0; k < bytes.length; k += 8192) { text += String.fromCharCode(...bytes.subarray(k, k + 8192)); }
      picture.classList.remove("stale");
      picture.replaceChildren(made("img", { alt: `figure: ${message.name.replaceAll("_", " ")}`,
        src: `data:image/svg+xml;base64,${btoa(text)}` }));
    },
    saved(message) {
      fault.replaceChildren();
      kept.textContent = `saved as ${message.name}; stiction run ${message.name} runs it again`;
      replace.checked = false;
    },
    error(message) {
      if (message.about === "run" || message.about === "open") { idle(true); }
      const found = inputs.get(message.field);
      if (found) {
        found.wrong.textContent = message.text.split("\n")[0];
        found.box.setAttribute("aria-invalid", "true");
      }
      lines(fault, message.text);
    },
  };

  model.on("msg:custom", (event) => {
    const message = event.data ?? event;
    if (Object.hasOwn(heard, message.kind)) { heard[message.kind](message); }
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
