// Scales: from values to the numbers that ECharts plots, and back to what the ticks say. ECharts only ever sees linear
// axes; which values they show, and in which unit, is decided here.

/// Smallest and largest of the values that the axis can show.
function domainOf(values, logarithmic) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!isNumber(value) || (logarithmic && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low <= high) return [low, high];
  return logarithmic ? [1, 10] : [0, 1];
}

/// Where all values are whole, as iterations and counts are, the ticks are too.
function forValues(axis, values) {
  return { ...axis, whole: !axis.unit && values.every((value) => !isNumber(value) || Number.isInteger(value)) };
}

function scaleOf(axis, domain, count, tight = false) {
  return (axis.log ? logarithmicScale : linearScale)(axis, domain, count, tight);
}

/// From 0 if that is not far from the values: differences then have their true size.
function withZeroIfNear([low, high], axis) {
  if (axis.log) return [low, high];
  if (low > 0 && low < 0.4 * high) return [0, high];
  if (high < 0 && high > 0.4 * low) return [low, 0];
  return [low, high];
}

const withZero = ([low, high]) => [Math.min(0, low), Math.max(0, high)];

/// "time (ms)". "seconds (ms)" would contradict itself.
function axisName(axis, scale) {
  const plain = { seconds: 'time', bytes: 'size' };
  const title = axis.title || '';
  const other = PREFIXES[axis.unit] && scale.unitName !== axis.unit;
  const name = other ? plain[title.toLowerCase()] || title : title;
  return scale.unitName ? `${name} (${scale.unitName})`.trim() : name;
}
