// Histograms: steps over equal bins, translucent so that none hides another.

const binWidth = (spec) => (spec.last - spec.first) / Math.max(1, ...spec.series.map(({ values }) => values.length));

function outline(values, spec, scales) {
  const width = binWidth(spec);
  const ground = scales.y.min;
  const height = (value) => { const plotted = scales.y.toPlot(value); return plotted === null ? ground : plotted; };
  const corners = [[spec.first, ground]];
  values.forEach((value, i) => {
    corners.push([spec.first + i * width, height(value)], [spec.first + (i + 1) * width, height(value)]);
  });
  corners.push([spec.first + values.length * width, ground]);
  return corners;
}

function histogramSeries({ series, index }, spec, scales, room) {
  const color = seriesColor(room.theme, index);
  return {
    id: seriesKey(index),
    type: 'line',
    data: outline(series.values, spec, scales),
    showSymbol: false,
    symbol: 'none',
    itemStyle: { color },
    lineStyle: { color, width: 1.75, type: seriesDash(index), join: 'miter' },
    areaStyle: { color, opacity: 0.22, origin: 'start' },
    emphasis: { disabled: true },
  };
}

function histogramTip(spec, shown, room) {
  const width = binWidth(spec);
  const bins = Math.round((spec.last - spec.first) / width);
  return (items) => {
    if (!items.length) return '';
    const bin = between(0, Math.floor((items[0].axisValue - spec.first) / width), bins - 1);
    const edges = [bin, bin + 1].map((i) => numberWithUnit(spec.first + i * width, spec.x.unit));
    const rows = shown.map(({ series, index }) => (
      tipRow(seriesColor(room.theme, index), series.name, numberWithUnit(series.values[bin], spec.y.unit))));
    return tipOf(`${spec.x.title || ''} ${edges.join(' to ')}`, rows);
  };
}

/// An empty bin has no place on a logarithmic axis: one half of the smallest count is its ground.
function histogramDomain(spec, counts) {
  const [low, high] = domainOf(counts, spec.y.log);
  return spec.y.log ? [low / 2, high] : [0, high];
}

function histogramPicture(spec, room) {
  const shown = shownSeries(spec, room);
  const counts = shown.flatMap(({ series }) => series.values);
  const scales = {
    x: scaleOf({ ...spec.x, log: false }, [spec.first, spec.last], horizontalCount(room), true),
    y: scaleOf(forValues(spec.y, counts), histogramDomain(spec, counts), verticalCount(room)),
  };
  return {
    legend: legendOf(spec, room, () => ({ kind: 'area' })),
    option: {
      ...baseOption(room),
      title: uprightName(axisName(spec.y, scales.y), room),
      grid: gridAround(tickTexts(scales.y), tickTexts(scales.x), room),
      xAxis: { ...below(valueAxis(scales.x, room), axisName(spec.x, scales.x)), splitLine: { show: false } },
      yAxis: valueAxis(scales.y, room),
      tooltip: tooltipOf(room, 'axis', histogramTip(spec, shown, room), { snap: false }),
      series: shown.map((entry) => histogramSeries(entry, spec, scales, room)),
    },
  };
}

CHARTS.histogram = { draw: drawnByECharts(histogramPicture), size: usualSize };
