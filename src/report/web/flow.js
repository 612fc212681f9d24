// Flow: points on their way, a film on screens and three pictures on paper.

function nearestMovingPoint(view, map, x, y) {
  let [best, bestDistance] = [-1, 14 ** 2];
  const count = Math.min(view.spec.source.length, view.spec.moved.length);
  for (let i = 0; i < count; ++i) {
    const point = positionAt(view.spec, i, view.time);
    const distance = (map.x(point[0]) - x) ** 2 + (map.y(point[1]) - y) ** 2;
    if (distance < bestDistance) [best, bestDistance] = [i, distance];
  }
  return best;
}

function showFlowTip(view, map, event) {
  const frame = view.flow.svg.getBoundingClientRect();
  const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
  const index = view.hidden.has('moving') ? -1 : nearestMovingPoint(view, map, x, y);
  view.flowTip.hidden = index < 0;
  if (index < 0) return;
  const place = (point) => `(${plainNumber(point[0], 3)}, ${plainNumber(point[1], 3)})`;
  view.flowTip.replaceChildren(tipOf(`point ${plainNumber(index)}`, [
    tipRow('', 'from', place(view.spec.source[index])), tipRow('', 'to', place(view.spec.moved[index]))]));
  view.flowTip.style.left = between(0, x + 12, frame.width - view.flowTip.offsetWidth) + 'px';
  view.flowTip.style.top = between(0, y + 12, frame.height - view.flowTip.offsetHeight) + 'px';
}

function flowLegend(spec, room) {
  const { theme } = room;
  const what = spec.pixels ? 'pixels' : 'points';
  const shape = { kind: 'point', symbol: spec.pixels ? 'rect' : 'circle' };
  const moving = spec.pixels ? shape : { kind: 'dots', colors: theme.circle };
  const target = spec.pixels ? shape : { ...shape, size: TARGET_SIZE };
  return [
    { key: 'moving', name: `moving ${what}${spec.pixels ? '' : ', by where they start'}`, color: flowColor(theme),
      shape: moving },
    { key: 'target', name: `target ${what}`, color: theme.faint, shape: target },
  ];
}

function drawFilm(view, room) {
  if (!view.controls) makeFlowControls(view);
  const size = flowSize(view.spec, room.width);
  const map = flowMap(view.spec, size.width, size.height);
  view.flow = flowPicture(view.spec, map, room);
  view.flowTip = element('div', { class: 'flow-tip' });
  view.flowTip.hidden = true;
  view.flow.svg.addEventListener('pointermove', (event) => showFlowTip(view, map, event));
  view.flow.svg.addEventListener('pointerleave', () => { view.flowTip.hidden = true; });
  view.plot.replaceChildren(view.flow.svg, view.flowTip);
  showLegend(view, flowLegend(view.spec, room));
  setFlowTime(view, view.time);
}

/// Paper does not move: the beginning, the middle and the end.
function drawFlowFrames(view, room) {
  const width = Math.floor((room.width - 24) / 3);
  const size = flowSize(view.spec, width);
  const frames = [[0, 'start'], [0.5, 'half of the way'], [1, 'end']].map(([t, name]) => {
    const picture = flowPicture(view.spec, flowMap(view.spec, width, size.height), room);
    picture.show(t);
    return element('div', {}, picture.svg, name);
  });
  view.plot.replaceChildren(element('div', { class: 'frames' }, ...frames));
  showLegend(view, flowLegend(view.spec, room));
}

const drawFlow = (view, room) => (room.printing ? drawFlowFrames : drawFilm)(view, room);

CHARTS.flow = { draw: drawFlow, size: usualSize };
