// Views: the charts that are on the page, drawn again whenever their place or description changes.

const views = new Map();

function horizontalPadding(node) {
  const style = getComputedStyle(node);
  return parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
}

function roomOf(view) {
  const available = view.plot.parentElement.clientWidth - horizontalPadding(view.plot.parentElement);
  const size = CHARTS[view.spec.kind].size(view.spec, available);
  const width = Math.floor(Math.min(available, size.maxWidth || available));
  const fontSize = available < 520 ? 12 : 13;
  return { theme: readTheme(), hidden: view.hidden, width, height: size.height, fontSize, printing };
}

/// A chart that cannot be drawn must not take the others with it; its table says the same.
function fallBackToTable(view, error) {
  console.error(error);
  view.plot.classList.remove('drawn');
  const details = view.plot.parentElement.querySelector('details');
  if (details) details.open = true;
}

function draw(view) {
  try {
    view.plot.classList.add('drawn');
    view.plot.dataset.kind = view.spec.kind;
    const room = roomOf(view);
    view.width = view.plot.parentElement.clientWidth;
    CHARTS[view.spec.kind].draw(view, room);
  } catch (error) {
    fallBackToTable(view, error);
  }
}

function drawAll() {
  for (const view of views.values()) draw(view);
}

const sizes = typeof ResizeObserver === 'function' ? new ResizeObserver(onResize) : null;

function onResize() {
  requestAnimationFrame(() => {
    if (printing) return;
    for (const view of views.values()) {
      if (view.plot.parentElement && view.plot.parentElement.clientWidth !== view.width) draw(view);
    }
  });
}

function stopWatching(view) {
  if (sizes && view.figure) sizes.unobserve(view.figure);
}

/// Charts of another kind share nothing with their predecessor.
function forget(view) {
  if (view.chart) view.chart.dispose();
  for (const box of [view.legend, view.scaleBox, view.controls]) {
    if (box) box.remove();
  }
  stopWatching(view);
  views.delete(view.plot);
}

function viewOf(plot, spec) {
  const known = views.get(plot);
  if (known && known.spec.kind === spec.kind) return known;
  if (known) forget(known);
  const view = { plot, spec, figure: plot.parentElement, hidden: new Set() };
  views.set(plot, view);
  if (sizes) sizes.observe(view.figure);
  return view;
}

function showCharts(specs) {
  for (const view of [...views.values()]) {
    if (!view.plot.isConnected) forget(view);
  }
  for (const plot of document.querySelectorAll('[data-chart]')) {
    const spec = Object.prototype.hasOwnProperty.call(specs, plot.dataset.chart) ? specs[plot.dataset.chart] : null;
    if (!spec || !CHARTS[spec.kind]) continue;
    const view = viewOf(plot, spec);
    view.spec = spec;
    draw(view);
  }
}
