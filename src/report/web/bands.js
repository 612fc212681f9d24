// Bands of a chart of lines: the area between two bounds.

const bandKey = (index) => 'b' + index;

/// Corners of the areas between both bounds; a gap in a bound ends an area.
function bandAreas(band, scales) {
  const areas = [];
  let [lows, highs] = [[], []];
  const close = () => {
    if (lows.length > 1) areas.push(lows.concat(highs.reverse()));
    [lows, highs] = [[], []];
  };
  band.low.forEach(([x, low], i) => {
    const high = band.high[i] ? band.high[i][1] : null;
    if (!isNumber(low) || scales.y.toPlot(high) === null || scales.x.toPlot(x) === null) return close();
    const plottedLow = scales.y.toPlot(low);
    lows.push([scales.x.toPlot(x), plottedLow === null ? scales.y.min : plottedLow]);
    highs.push([scales.x.toPlot(x), scales.y.toPlot(high)]);
    return undefined;
  });
  close();
  return areas;
}

function bandSeries({ band, index }, scales, room) {
  const areas = bandAreas(band, scales);
  const polygon = (area, api) => ({
    type: 'polygon',
    shape: { points: area.map((corner) => api.coord(corner)) },
    style: { fill: room.theme.band, opacity: 0.28 },
  });
  return {
    id: bandKey(index),
    type: 'custom',
    data: areas.map((area) => area[0]),
    renderItem: (params, api) => polygon(areas[params.dataIndex], api),
    silent: true,
    clip: true,
    z: 1,
  };
}

function bandTipRow({ band }, x, spec, room) {
  const at = band.low.findIndex((point) => point[0] === x);
  if (at < 0 || !band.high[at]) return [];
  const bounds = [band.low[at][1], band.high[at][1]].map((value) => numberWithUnit(value, spec.y.unit));
  return [tipRow(room.theme.band, band.name, bounds.join(' – '))];
}
