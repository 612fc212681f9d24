// Heat maps.

/// Which cells carry a label, and what it says: round numbers of the rows or columns themselves.
function cellLabels(cells, step, count) {
  const every = Math.max(1, niceStep((cells * step) / count));
  const labels = new Map();
  for (let place = 0; place < cells * step; place += every) {
    const cell = Math.floor(place / step + 1e-9);
    if (!labels.has(cell)) labels.set(cell, plainNumber(place));
  }
  return labels;
}

function cellAxis(cells, step, count, room, extra) {
  const labels = cellLabels(cells, step, count);
  const names = Array.from({ length: cells }, (_, cell) => labels.get(cell) || '');
  const axisLabel = { interval: (cell) => labels.has(cell) };
  return categoryAxis(names, room, { ...extra, axisLine: { show: false }, axisLabel });
}

/// "rows 12 to 15"
function cellName(title, cell, step) {
  const [first, last] = [cell * step, (cell + 1) * step - 1];
  return last > first ? `${title} ${plainNumber(first)} to ${plainNumber(last)}` : `${title} ${plainNumber(first)}`;
}

function heatmapTip(spec) {
  const heading = ([column, row]) => [
    cellName(spec.y.title || 'row', row, spec.row_step || 1),
    cellName(spec.x.title || 'column', column, spec.column_step || 1),
  ].join(', ');
  return (item) => {
    const value = spec.values[item.value[1] * spec.columns + item.value[0]];
    const row = tipRow(item.color, spec.value.title || '', numberWithUnit(value, spec.value.unit));
    return tipOf(heading(item.value), [row]);
  };
}

function heatmapRange(spec) {
  const [low, high] = domainOf(spec.values, spec.log);
  const start = spec.log || low < 0 ? low : 0;
  return high > start ? [start, high] : [start, start + 1];
}

function heatmapCells(spec, toShade) {
  const cells = [];
  spec.values.forEach((value, i) => {
    if (!isNumber(value) || (spec.log && value <= 0)) return;
    cells.push([i % spec.columns, Math.floor(i / spec.columns), toShade(value)]);
  });
  return cells;
}

/// Cells reach a little into those to the right and below: otherwise the background shines through between them, on
/// paper above all.
function cellSeries(cells, spec, room) {
  const overlap = (index, count) => (index + 1 < count ? 0.6 : 0);
  const renderItem = (params, api) => {
    const [column, row] = [api.value(0), api.value(1)];
    const [x, y] = api.coord([column, row]);
    const [width, height] = api.size([1, 1]);
    return {
      type: 'rect',
      shape: {
        x: x - width / 2,
        y: y - height / 2,
        width: width + overlap(column, spec.columns),
        height: height + overlap(row, spec.rows),
      },
      style: { fill: api.visual('color') },
      emphasis: { style: { stroke: room.theme.ink, lineWidth: 1.5 } },
    };
  };
  return { type: 'custom', data: cells, renderItem, encode: { x: 0, y: 1 }, progressive: 0 };
}

function heatmapScale(spec, range) {
  const middle = spec.log ? Math.sqrt(range[0] * range[1]) : (range[0] + range[1]) / 2;
  return {
    name: spec.value.title || '',
    stops: [range[0], middle, range[1]].map((value) => numberWithUnit(value, spec.value.unit, 3)),
  };
}

function heatmapPicture(spec, room) {
  const range = heatmapRange(spec);
  const toShade = spec.log ? Math.log10 : (value) => value;
  const rows = cellAxis(spec.rows, spec.row_step || 1, verticalCount(room), room, { inverse: true });
  const columns = cellAxis(spec.columns, spec.column_step || 1, horizontalCount(room), room);
  const rowNames = rows.data.filter((name) => name);
  return {
    legend: [],
    scale: heatmapScale(spec, range),
    option: {
      ...baseOption(room),
      title: uprightName(axisName(spec.y, { unitName: spec.y.unit || '' }), room),
      grid: {
        ...gridAround(rowNames, columns.data.filter((name) => name), room), show: true, backgroundColor: room.theme.gap, borderWidth: 0,
      },
      xAxis: below(columns, axisName(spec.x, { unitName: spec.x.unit || '' })),
      yAxis: rows,
      tooltip: tooltipOf(room, 'item', heatmapTip(spec)),
      visualMap: { show: false, type: 'continuous', min: toShade(range[0]), max: toShade(range[1]), dimension: 2,
        inRange: { color: room.theme.heat } },
      series: [cellSeries(heatmapCells(spec, toShade), spec, room)],
    },
  };
}

function heatmapSize(spec, width) {
  const square = (width - 60) * (spec.rows / spec.columns);
  return { height: Math.round(between(150, Math.min(square, 48 * spec.rows), 460) + 82) };
}

CHARTS.heatmap = { draw: drawnByECharts(heatmapPicture), size: heatmapSize };
