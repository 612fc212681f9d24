// Series: which of them are shown, by which key they are found again, and their points as plotted.

const seriesKey = (index) => 's' + index;
const indexOfKey = (key) => Number(key.slice(1));

/// The series that the reader has not switched off, each with its place, which decides its colour.
function shownSeries(spec, room) {
  const placed = spec.series.map((series, index) => ({ series, index }));
  return placed.filter(({ index }) => !room.hidden.has(seriesKey(index)));
}

function legendOf(spec, room, shape) {
  return spec.series.map((series, index) => ({
    key: seriesKey(index),
    name: series.name,
    color: seriesColor(room.theme, index),
    shape: shape(series, index),
  }));
}

function allOf(lists, coordinate) {
  return lists.flatMap((points) => points.map((point) => point[coordinate]));
}

/// [plotted x, plotted y, x, y]: the tooltip shows the numbers themselves.
function plottedPoints(points, scales) {
  return points.map(([x, y]) => [scales.x.toPlot(x), scales.y.toPlot(y), x, y]);
}
