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
    const heading = `${spec.x.title || ''} ${numberWithUnit(x, spec.x.unit)}`;
    return tipOf(heading, rows.concat(bands.flatMap((band) => bandTipRow(band, x, spec, room))));
  };
}

function linesPicture(spec, room) {
  const allBands = (spec.bands || []).map((band, index) => ({ band, index }));
  const bands = allBands.filter(({ index }) => !room.hidden.has(bandKey(index)));
  const shown = shownSeries(spec, room);
  const scales = linesScales(spec, shown, bands, room);
  const bandEntries = allBands.map(({ band, index }) => (
    { key: bandKey(index), name: band.name, color: room.theme.band, shape: { kind: 'area' } }));
  const lineEntries = legendOf(spec, room, (series, index) => (
    { kind: 'line', dash: seriesDash(index), symbol: series.marks ? seriesSymbol(index) : null }));
  return {
    legend: lineEntries.concat(bandEntries),
    option: {
      ...baseOption(room),
      title: uprightName(axisName(spec.y, scales.y), room),
      grid: gridAround(tickTexts(scales.y), tickTexts(scales.x), room),
      xAxis: { ...below(valueAxis(scales.x, room), axisName(spec.x, scales.x)), splitLine: { show: false } },
      yAxis: valueAxis(scales.y, room),
      tooltip: tooltipOf(room, 'axis', linesTip(spec, bands, room)),
      series: [
        ...bands.map((band) => bandSeries(band, scales, room)),
        ...shown.map((entry) => lineSeries(entry, scales, room)),
        ...levelRules(linesRules(spec), spec.y, scales.y, room),
      ],
    },
  };
}

CHARTS.lines = { draw: drawnByECharts(linesPicture), size: usualSize };
