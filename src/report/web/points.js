// Points.

function pointsScales(spec, shown, room) {
  const lists = shown.map(({ series }) => series.points);
  const domain = (coordinate, axis) => domainOf(allOf(lists, coordinate), axis.log);
  let [x, y] = [domain(0, spec.x), domain(1, spec.y)];
  // The line y = x means something to the eye if both axes are alike.
  if (spec.diagonal) x = y = [Math.min(x[0], y[0]), Math.max(x[1], y[1])];
  return {
    x: scaleOf(spec.x, withZeroIfNear(x, spec.x), horizontalCount(room)),
    y: scaleOf(spec.y, withZeroIfNear(y, spec.y), spec.diagonal ? horizontalCount(room) : verticalCount(room)),
  };
}

function scatterSeries({ series, index }, scales, room) {
  const color = seriesColor(room.theme, index);
  return {
    id: seriesKey(index),
    type: 'scatter',
    data: plottedPoints(series.points, scales).filter(([x, y]) => x !== null && y !== null),
    encode: { x: 0, y: 1 },
    symbol: seriesSymbol(index),
    symbolSize: series.points.length > 400 ? 5 : 9,
    itemStyle: { color, opacity: 0.8, borderColor: room.theme.surface, borderWidth: 0.75 },
    emphasis: { scale: 1.4 },
  };
}

function diagonalSeries(scales, room) {
  const ends = [Math.max(scales.x.fromPlot(scales.x.min), scales.y.fromPlot(scales.y.min)),
    Math.min(scales.x.fromPlot(scales.x.max), scales.y.fromPlot(scales.y.max))];
  return {
    id: 'diagonal', type: 'line', symbol: 'none', silent: true, z: 1,
    data: ends.map((end) => [scales.x.toPlot(end), scales.y.toPlot(end)]),
    lineStyle: { color: room.theme.muted, width: 1.5, type: [5, 4] },
    endLabel: {
      show: true, formatter: () => 'y = x', offset: [-58, 8], color: room.theme.muted,
      fontSize: room.fontSize, fontFamily: room.theme.font,
    },
  };
}

function pointsTip(spec, room) {
  return (item) => {
    if (!item.seriesId.startsWith('s')) return '';
    const index = indexOfKey(item.seriesId);
    const row = (axis, value) => tipRow('', axis.title || '', numberWithUnit(value, axis.unit));
    const rows = [row(spec.x, item.value[2]), row(spec.y, item.value[3])];
    rows[0].firstChild.style.background = seriesColor(room.theme, index);
    return tipOf(spec.series[index].name, rows);
  };
}

function pointsPicture(spec, room) {
  const shown = shownSeries(spec, room);
  const scales = pointsScales(spec, shown, room);
  return {
    legend: legendOf(spec, room, (_, index) => ({ kind: 'point', symbol: seriesSymbol(index) })),
    option: {
      ...baseOption(room),
      title: uprightName(axisName(spec.y, scales.y), room),
      grid: gridAround(tickTexts(scales.y), tickTexts(scales.x), room),
      xAxis: below(valueAxis(scales.x, room), axisName(spec.x, scales.x)),
      yAxis: valueAxis(scales.y, room),
      tooltip: tooltipOf(room, 'item', pointsTip(spec, room)),
      series: [
        ...(spec.diagonal ? [diagonalSeries(scales, room)] : []),
        ...shown.map((entry) => scatterSeries(entry, scales, room)),
      ],
    },
  };
}

function pointsSize(spec, width) {
  if (!spec.diagonal) return usualSize(spec, width);
  const side = Math.min(width, 520);
  return { height: side, maxWidth: side + 40 };
}

CHARTS.points = { draw: drawnByECharts(pointsPicture), size: pointsSize };
