// Legends: buttons of the page, which wrap on phones and can be reached with the keyboard.

const SYMBOL_SHAPES = {
  circle: (size = 1) => svgElement('circle', { cx: 12, cy: 7, r: 4 * size }),
  rect: () => svgElement('rect', { x: 8, y: 3, width: 8, height: 8 }),
  triangle: () => svgElement('path', { d: 'M12 2l5 9h-10z' }),
  diamond: () => svgElement('path', { d: 'M12 2l5 5l-5 5l-5 -5z' }),
};

/// Of many colours: three of them, in place of all.
const dotShapes = (colors) => [4, 12, 20].map((cx, i) => (
  svgElement('circle', { cx, cy: 7, r: 3.5, fill: colors[Math.floor((i * colors.length) / 3)] })));

function swatchShapes({ kind, dash, symbol, size, colors }, color) {
  const shapes = [];
  if (kind === 'line') {
    const pattern = Array.isArray(dash) ? dash.join(' ') : 'none';
    const stroke = { stroke: color, 'stroke-width': 2.5, 'stroke-dasharray': pattern };
    shapes.push(svgElement('path', { d: 'M0 7h24', ...stroke }));
  }
  if (kind === 'bar') shapes.push(svgElement('rect', { x: 6, y: 1, width: 12, height: 12, rx: 2 }));
  if (kind === 'area') {
    const box = { x: 1, y: 1, width: 22, height: 12, 'fill-opacity': 0.28, stroke: color, 'stroke-width': 1.5 };
    shapes.push(svgElement('rect', box));
  }
  if (kind === 'dots') shapes.push(...dotShapes(colors));
  if (symbol) shapes.push(SYMBOL_SHAPES[symbol](size));
  return shapes;
}

function swatch(entry) {
  const attributes = { width: 24, height: 14, viewBox: '0 0 24 14', fill: entry.color, 'aria-hidden': 'true' };
  return svgElement('svg', attributes, ...swatchShapes(entry.shape, entry.color));
}

function toggleSeries(view, key) {
  if (!view.hidden.delete(key)) view.hidden.add(key);
  draw(view);
}

function legendButton(view, entry) {
  const button = element('button', { type: 'button' }, swatch(entry), element('span', {}, entry.name));
  button.dataset.key = entry.key;
  button.addEventListener('click', () => toggleSeries(view, entry.key));
  return button;
}

function boxAbovePlot(view, name, attributes) {
  if (!view[name]) {
    view[name] = element('div', attributes);
    view.plot.before(view[name]);
  }
  return view[name];
}

/// Its buttons are made again only if they change: one of them may have the focus.
function showLegend(view, entries) {
  if (entries.length < 2) {
    if (view.legend) view.legend.remove();
    view.legend = view.legendText = null;
    return;
  }
  const legend = boxAbovePlot(view, 'legend', { class: 'legend', role: 'group', 'aria-label': 'Show or hide' });
  const text = JSON.stringify(entries);
  if (view.legendText !== text) legend.replaceChildren(...entries.map((entry) => legendButton(view, entry)));
  view.legendText = text;
  for (const button of legend.children) button.setAttribute('aria-pressed', !view.hidden.has(button.dataset.key));
}
