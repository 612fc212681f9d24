// One picture of points on their way, in an SVG of our own. All dots of one colour are one path (a line of no length
// with round ends is a dot), so that a frame changes a handful of attributes, not thousands of elements.

const FLOW_MARGIN = { left: 48, right: 12, top: 10, bottom: 30 };

function flowDomain(spec) {
  const points = [...spec.source, ...spec.moved, ...spec.target];
  return [0, 1].map((coordinate) => {
    const [low, high] = domainOf(points.map((point) => point[coordinate]), false);
    const space = (high - low || 1) * 0.04;
    return [low - space, high + space];
  });
}

/// One length for both directions: a circle stays a circle.
function flowMap(spec, width, height) {
  const [xs, ys] = flowDomain(spec);
  const innerWidth = width - FLOW_MARGIN.left - FLOW_MARGIN.right;
  const innerHeight = height - FLOW_MARGIN.top - FLOW_MARGIN.bottom;
  const unit = Math.min(innerWidth / (xs[1] - xs[0]), innerHeight / (ys[1] - ys[0]));
  const { left } = FLOW_MARGIN;
  const bottom = height - FLOW_MARGIN.bottom - (innerHeight - unit * (ys[1] - ys[0])) / 2;
  return {
    xs, ys, width, height, unit,
    x: (value) => left + (value - xs[0]) * unit,
    y: (value) => bottom - (value - ys[0]) * unit,
  };
}

function flowTickGroup(map, room) {
  const group = svgElement('g', { fill: room.theme.muted, 'font-size': room.fontSize, stroke: 'none' });
  const step = niceStep(Math.max(70 / map.unit, 1e-300));
  const text = linearTickText(step, Math.max(...map.xs.concat(map.ys).map(Math.abs)), 1);
  const line = (attributes) => group.append(svgElement('line', { stroke: room.theme.grid, ...attributes }));
  for (const tick of linearTicks(map.xs[0], map.xs[1], step)) {
    const x = map.x(tick);
    line({ x1: x, x2: x, y1: map.y(map.ys[1]), y2: map.y(map.ys[0]) });
    group.append(svgElement('text', { x, y: map.y(map.ys[0]) + 18, 'text-anchor': 'middle' }, text(tick)));
  }
  for (const tick of linearTicks(map.ys[0], map.ys[1], step)) {
    const y = map.y(tick);
    line({ x1: map.x(map.xs[0]), x2: map.x(map.xs[1]), y1: y, y2: y });
    group.append(svgElement('text', { x: map.x(map.xs[0]) - 8, y: y + 4, 'text-anchor': 'end' }, text(tick)));
  }
  return group;
}

/// Of the diameter of a moving point.
const TARGET_SIZE = 0.5;

const dotsPath = (points, map) => points.map(([x, y]) => `M${map.x(x).toFixed(1)} ${map.y(y).toFixed(1)}h0`).join('');

function positionAt(spec, index, t) {
  const [from, to] = [spec.source[index], spec.moved[index]];
  return [(1 - t) * from[0] + t * to[0], (1 - t) * from[1] + t * to[1]];
}

/// Indices of the points for every colour: by the direction in which a point starts, seen from their middle.
function groupsByDirection(spec, colors) {
  const mean = (coordinate) => spec.source.reduce((sum, point) => sum + point[coordinate], 0) / spec.source.length;
  const middle = [mean(0), mean(1)];
  const groups = Array.from({ length: colors }, () => []);
  const count = Math.min(spec.source.length, spec.moved.length);
  for (let i = 0; i < count; ++i) {
    const angle = Math.atan2(spec.source[i][1] - middle[1], spec.source[i][0] - middle[0]);
    groups[Math.floor((angle / (2 * Math.PI) + 1) * colors) % colors].push(i);
  }
  return groups;
}

/// Squares instead of dots: pixels of images, by their mass in steps from faint to full.
const PIXEL_LEVELS = 12;

function groupsByMass(shares) {
  const groups = Array.from({ length: PIXEL_LEVELS }, () => []);
  shares.forEach((share, i) => groups[between(0, Math.ceil(share * PIXEL_LEVELS) - 1, PIXEL_LEVELS - 1)].push(i));
  return groups;
}

function squaresPath(points, side, map) {
  const length = Math.max(1, side * map.unit);
  const begin = ([x, y]) => `M${(map.x(x) - length / 2).toFixed(1)} ${(map.y(y) - length / 2).toFixed(1)}`;
  const rest = `h${length.toFixed(1)}v${length.toFixed(1)}h${(-length).toFixed(1)}z`;
  return points.map((point) => begin(point) + rest).join('');
}

/// What moves and what it moves onto: elements by colour, and how the outline of some of the points is drawn.
function pixelMarks(spec, map, room) {
  const { theme } = room;
  const { pixels } = spec;
  const mark = (color, level) =>
    svgElement('path', { fill: color, stroke: 'none', 'fill-opacity': ((level + 1) / PIXEL_LEVELS).toFixed(2) });
  return {
    target: groupsByMass(pixels.target).map((indices, level) => setAttributes(mark(theme.faint, level), {
      d: squaresPath(indices.map((i) => spec.target[i]), pixels.target_side, map) })),
    moving: groupsByMass(pixels.source).map((indices, level) => ({ path: mark(flowColor(theme), level), indices })),
    outline: (points) => squaresPath(points, pixels.source_side, map),
  };
}

function dotMarks(spec, map, room) {
  const { theme } = room;
  const area = map.unit ** 2 * (map.xs[1] - map.xs[0]) * (map.ys[1] - map.ys[0]);
  const diameter = between(2.5, 0.28 * Math.sqrt(area / (spec.source.length || 1)), 9);
  const mark = (color, width) => svgElement('path', { fill: 'none', stroke: color, 'stroke-width': width });
  return {
    // Smaller, so that they do not fill the gaps in the shape of what moves.
    target: [setAttributes(mark(theme.faint, TARGET_SIZE * diameter), { d: dotsPath(spec.target, map) })],
    moving: groupsByDirection(spec, theme.circle.length)
      .map((indices, color) => ({ path: mark(theme.circle[color], diameter), indices })),
    outline: (points) => dotsPath(points, map),
  };
}

const flowColor = (theme) => theme.circle[11 % theme.circle.length];

function flowPicture(spec, map, room) {
  const marks = (spec.pixels ? pixelMarks : dotMarks)(spec, map, room);
  const svg = svgElement('svg', {
    width: map.width, height: map.height, viewBox: `0 0 ${map.width} ${map.height}`,
    'aria-hidden': 'true', 'stroke-linecap': 'round', 'font-family': room.theme.font,
  }, flowTickGroup(map, room));
  if (!room.hidden.has('target')) svg.append(...marks.target);
  const moving = room.hidden.has('moving') ? [] : marks.moving;
  svg.append(...moving.map(({ path }) => path));
  const show = (t) => {
    for (const { path, indices } of moving) {
      path.setAttribute('d', marks.outline(indices.map((i) => positionAt(spec, i, t))));
    }
  };
  return { svg, show };
}

function flowSize(spec, width) {
  const [xs, ys] = flowDomain(spec);
  const ratio = (ys[1] - ys[0]) / (xs[1] - xs[0]);
  const inner = width - FLOW_MARGIN.left - FLOW_MARGIN.right;
  return { width, height: Math.round(between(120, inner * ratio, 480) + FLOW_MARGIN.top + FLOW_MARGIN.bottom) };
}
