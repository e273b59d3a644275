// Runs the player of an animation page without a browser: a stand-in for the page that counts
// what is drawn. Prints what was seen in the first frame, at the end, and after a restart.
"use strict";
const text = require("fs").readFileSync(process.argv[2], "utf8");
const script = text.match(/<script>([\s\S]*)<\/script>/)[1];

let drawn = [];
const waiting = [];
const elements = {};

function pen(id) {
  const state = {};
  const calls = new Set(["arc", "beginPath", "clearRect", "clip", "drawImage", "fill", "fillRect",
    "fillText", "lineTo", "moveTo", "rect", "restore", "save", "setTransform", "stroke",
    "strokeRect"]);
  return new Proxy(state, {
    get(_, name) {
      if (name in state) { return state[name]; }
      if (!calls.has(name)) { throw new Error("no such call on a canvas: " + String(name)); }
      return (...values) => {
        if (values.some((value) => typeof value === "number" && !Number.isFinite(value))) {
          throw new Error(name + " was given " + values);
        }
        drawn.push([id, name, state.fillStyle]);
      };
    },
  });
}

function element(id) {
  const context = pen(id), handlers = {};
  elements[id] ??= {
    style: {},
    clientWidth: 800,
    value: id === "speed" ? "1" : "0",
    handlers,
    addEventListener(name, handler) { handlers[name] = handler; },
    getContext() { return context; },
  };
  return elements[id];
}

global.window = {
  devicePixelRatio: 2,
  handlers: {},
  addEventListener(name, handler) { this.handlers[name] = handler; },
  requestAnimationFrame(frame) { waiting.push(frame); },
};
global.document = { body: {}, getElementById: element, createElement: (kind) => element(kind) };

const seen = { clock: [], button: [], blocks: [], stuck: [] };
function note() {
  seen.clock.push(elements.clock.textContent);
  seen.button.push(elements.play.textContent);
}
function count() {
  const blocks = drawn.filter(([id, name]) => id === "chain" && name === "fillRect");
  seen.blocks.push(blocks.length);
  seen.stuck.push(blocks.filter(([, , fill]) => fill === "#c4c4c4").length);
}

new Function(script)();
note();
count();
let now = 0;
while (waiting.length) {
  drawn = [];
  now += 16;
  waiting.shift()(now);
}
note();
count();
const key = (name) => window.handlers.keydown({
  target: document.body, key: name, preventDefault() {},
});
elements.slider.handlers.input();
key("ArrowRight");
key("ArrowLeft");
elements.ribbon.handlers.click({ offsetX: 0 });
window.handlers.resize();
key(" ");
note();
seen.notes = elements.notes.textContent;
process.stdout.write(JSON.stringify(seen));
