'use strict';
// The frame of the bars shows a part of the time; axis and names are written anew for it.
(() => {
  const svg = document.getElementById('timeline'), bars = document.getElementById('bars');
  const axis = document.getElementById('axis'), labels = document.getElementById('labels');
  if (!axis) return;
  const left = bars.x.baseVal.value, width = bars.width.baseVal.value, height = bars.height.baseVal.value;
  const span = Number(bars.dataset.span), least = Math.max(width * 1e-3 / span, width * 1e-7);
  const all = Array.from(bars.querySelectorAll('rect'), (element) => ({
    element, x: element.x.baseVal.value, w: element.width.baseVal.value, y: element.y.baseVal.value,
    name: element.querySelector('title').textContent.split('\n')[0], kind: element.classList[1],
  }));
  let from = 0, shown = width, waiting = false;
  const make = (parent, kind, attributes, text) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', kind);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
  };
  const unit = (us) => us >= 1e6 ? ['s', 1e6] : us >= 1e3 ? ['ms', 1e3] : us >= 1 ? ['µs', 1] : ['ns', 1e-3];
  const draw = () => {
    waiting = false;
    bars.setAttribute('viewBox', `${from} 0 ${shown} ${height}`);
    const begin = from / width * span, part = shown / width * span;
    const rough = part / 8, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || rough;
    const [word, size] = unit(begin + part);
    const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step / size * 1.000001))));
    axis.replaceChildren();
    for (let i = Math.ceil(begin / step - 1e-6); i * step <= begin + part * 1.000001; i++) {
      const x = left + (i * step - begin) / part * width;
      make(axis, 'line', { class: 'mark', x1: x, x2: x, y1: 16, y2: height });
      make(axis, 'text', { class: 'l faint', 'text-anchor': 'middle', x, y: 12 }, `${(i * step / size).toFixed(digits)} ${word}`);
    }
    labels.replaceChildren();
    for (const bar of all) {
      const x = Math.max((bar.x - from) / shown * width, 0);
      const end = Math.min((bar.x + bar.w - from) / shown * width, width);
      const room = Math.floor((end - x - 6) / 6.3);
      if (room < 4 && room < bar.name.length || room < 1) continue;
      const name = bar.name.length > room ? bar.name.slice(0, room - 1) + '…' : bar.name;
      make(labels, 'text', { class: `l ${bar.kind}`, x: left + x + 4, y: bar.y + 13 }, name);
    }
  };
  const show = (start, wide) => {
    shown = Math.min(Math.max(wide, least), width);
    from = Math.min(Math.max(start, 0), width - shown);
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  };
  const zoom = (by, at = 0.5) => show(from + shown * at * (1 - by), shown * by);
  const place = (event) => {
    const frame = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / frame.width;
    return ((event.clientX - frame.left) * scale - left) / width;
  };
  svg.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max(place(event), 0), 1));
  }, { passive: false });
  let held = null;
  svg.addEventListener('pointerdown', (event) => { if (event.button === 0) held = { at: place(event), from, moved: false }; });
  addEventListener('pointermove', (event) => {
    if (!held) return;
    const by = held.at - place(event);
    held.moved ||= Math.abs(by) > 0.004;
    if (held.moved) show(held.from + by * shown, shown);
  });
  addEventListener('pointerup', () => { held = null; });
  addEventListener('pointercancel', () => { held = null; });
  svg.addEventListener('dblclick', (event) => zoom(0.5, Math.min(Math.max(place(event), 0), 1)));
  const tools = document.createElement('div'), told = document.createElement('p');
  tools.id = 'tools';
  told.id = 'told';
  for (const [word, title, act] of [
    ['+', 'zoom in', () => zoom(0.5)], ['−', 'zoom out', () => zoom(2)],
    ['←', 'earlier', () => show(from - shown / 3, shown)], ['→', 'later', () => show(from + shown / 3, shown)],
    ['all', 'the whole timeline', () => show(0, width)],
  ]) {
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: word, title, onclick: act });
    button.setAttribute('aria-label', title);
    tools.append(button);
  }
  const hint = document.createElement('span');
  hint.className = 'faint';
  hint.textContent = 'Ctrl and wheel zoom, dragging moves, a click on a bar shows all of it below.';
  tools.append(hint);
  svg.parentElement.before(tools);
  svg.parentElement.after(told);
  svg.addEventListener('click', (event) => {
    const title = event.target.closest('#bars rect')?.querySelector('title');
    if (title) told.textContent = title.textContent;
  });
})();
