// Lines.

const linesRules = (spec) => (spec.rules || []).map(({ y, name }) => ({ value: y, name }));

function linesScales(spec, shown, bands, room) {
  const lists = shown.map(({ series }) => series.points).concat(bands.flatMap(({ band }) => [band.low, band.high]));
  const xs = allOf(lists, 0);
  const ys = allOf(lists, 1).concat(linesRules(spec).map((rule) => rule.value));
  return {
    x: scaleOf(forValues(spec.x, xs), domainOf(xs, spec.x.log), horizontalCount(room), true),
    y: scaleOf(spec.y, withZeroIfNear(domainOf(ys, spec.y.log), spec.y), verticalCount(room)),
  };
}

/// A point between two gaps has no line to show it.
function isLonely(data, index) {
  const missing = (point) => !point || point[0] === null || point[1] === null;
  return missing(data[index - 1]) && missing(data[index + 1]);
}

function lineSeries({ series, index }, scales, room) {
  const color = seriesColor(room.theme, index);
  const data = plottedPoints(series.points, scales);
  const hasLonely = data.some((_, i) => isLonely(data, i));
  const size = (_, point) => (isLonely(data, point.dataIndex) ? 7 : 0);
  return {
    id: seriesKey(index),
    type: 'line',
    data,
    encode: { x: 0, y: 1 },
    connectNulls: false,
    showSymbol: Boolean(series.marks) || hasLonely,
    showAllSymbol: true,
    symbol: seriesSymbol(index),
    symbolSize: hasLonely && !series.marks ? size : 7,
    sampling: data.length > 4 * room.width ? 'minmax' : undefined,
    // The later on top, in whatever order they were switched on.
    z: 2 + index / 100,
    itemStyle: { color },
    lineStyle: { color, width: 2, type: seriesDash(index) },
    emphasis: { disabled: true },
  };
}

const levelAt = (spec, x) => (spec.levels || []).filter((level) => level.x <= x).pop();

/// Upright lines where a level begins, each with its name above if there is room for it. The first begins with the
/// curve.
function levelSeries(spec, scales, grid, room) {
  const inner = room.width - grid.left - grid.right;
  let taken = grid.left + textWidth(axisName(spec.y, scales.y), room);
  const lines = (spec.levels || []).slice(1).map((level) => {
    const place = scales.x.toPlot(level.x);
    const x = grid.left + (inner * (place - scales.x.min)) / (scales.x.max - scales.x.min);
    const half = textWidth(level.name, room) / 2 + 4;
    const show = x - half > taken && x + half < room.width;
    if (show) taken = x + half;
    return { xAxis: place, label: { show, formatter: () => level.name } };
  });
  const label = { position: 'end', distance: 4, color: room.theme.muted, fontSize: room.fontSize, fontFamily: room.theme.font };
  const lineStyle = { color: room.theme.faint, width: 1, type: [2, 3] };
  const markLine = { silent: true, symbol: 'none', animation: false, label, lineStyle, data: lines };
  return lines.length ? [{ id: 'levels', type: 'line', data: [], markLine, z: 1 }] : [];
}

function linesTip(spec, bands, room) {
  return (items) => {
    const own = items.filter((item) => item.seriesId.startsWith('s'));
    if (!own.length) return '';
    const x = own[0].value[2];
    const rows = own.map((item) => {
      const index = indexOfKey(item.seriesId);
      const value = numberWithUnit(item.value[3], spec.y.unit);
      return tipRow(seriesColor(room.theme, index), spec.series[index].name, value);
    });
    const level = levelAt(spec, x);
    const heading = `${spec.x.title || ''} ${numberWithUnit(x, spec.x.unit)}${level ? `, ${level.name}` : ''}`;
    return tipOf(heading, rows.concat(bands.flatMap((band) => bandTipRow(band, x, spec, room))));
  };
}

function linesPicture(spec, room) {
  const allBands = (spec.bands || []).map((band, index) => ({ band, index }));
  const bands = allBands.filter(({ index }) => !room.hidden.has(bandKey(index)));
  const shown = shownSeries(spec, room);
  const scales = linesScales(spec, shown, bands, room);
  const grid = gridAround(tickTexts(scales.y), tickTexts(scales.x), room);
  const bandEntries = allBands.map(({ band, index }) => (
    { key: bandKey(index), name: band.name, color: room.theme.band, shape: { kind: 'area' } }));
  const lineEntries = legendOf(spec, room, (series, index) => (
    { kind: 'line', dash: seriesDash(index), symbol: series.marks ? seriesSymbol(index) : null }));
  return {
    legend: lineEntries.concat(bandEntries),
    option: {
      ...baseOption(room),
      title: uprightName(axisName(spec.y, scales.y), room),
      grid,
      xAxis: { ...below(valueAxis(scales.x, room), axisName(spec.x, scales.x)), splitLine: { show: false } },
      yAxis: valueAxis(scales.y, room),
      tooltip: tooltipOf(room, 'axis', linesTip(spec, bands, room)),
      series: [
        ...bands.map((band) => bandSeries(band, scales, room)),
        ...shown.map((entry) => lineSeries(entry, scales, room)),
        ...levelSeries(spec, scales, grid, room),
        ...levelRules(linesRules(spec), spec.y, scales.y, room),
      ],
    },
  };
}

CHARTS.lines = { draw: drawnByECharts(linesPicture), size: usualSize };
