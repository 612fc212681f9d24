// Bars.

/// Names side by side do not fit on a phone; below one another they do.
function barsLieDown(spec, width) {
  return Boolean(spec.horizontal) || (width < 520 && spec.categories.length > 4);
}

const isStressed = (spec, category) => (spec.highlight || []).includes(category);
const categoryText = (spec, category) => (isStressed(spec, category) ? '▶ ' : '') + spec.categories[category];

const categoryTitle = (spec) => (spec.category && spec.category.title) || '';

/// Above bars that lie: the name of the axis of categories, then those of the rules.
const spaceAbove = (spec) => 6 + (categoryTitle(spec) ? 24 : 0) + RULE_ROW * (spec.rules || []).length;

function stackedTotals(spec, shown, sign) {
  return spec.categories.map((_, category) => shown.reduce((sum, { series }) => {
    const value = series.values[category];
    return isNumber(value) && value * sign > 0 ? sum + value : sum;
  }, 0));
}

function barsScale(spec, shown, value, count) {
  const values = spec.stacked
    ? [...stackedTotals(spec, shown, 1), ...stackedTotals(spec, shown, -1)]
    : shown.flatMap(({ series }) => series.values);
  const [low, high] = domainOf(values.concat((spec.rules || []).map((rule) => rule.value)), value.log);
  // On a logarithmic axis the shortest bar would have no length.
  return scaleOf(forValues(value, values), value.log ? [low / 2, high] : withZero([low, high]), count);
}

function barSeries({ series, index }, spec, scale, room) {
  const color = seriesColor(room.theme, index);
  const stress = { borderColor: room.theme.ink, borderWidth: 1.5 };
  return {
    id: seriesKey(index),
    type: 'bar',
    stack: spec.stacked ? 'all' : undefined,
    barMaxWidth: barsLieDown(spec, room.width) ? 26 : 44,
    barCategoryGap: '32%',
    barGap: '8%',
    itemStyle: { color },
    emphasis: { disabled: true },
    data: series.values.map((value, category) => (
      { value: scale.toPlot(value), itemStyle: isStressed(spec, category) ? stress : {} })),
  };
}

/// A lone series in few bars: its numbers stand at the bars.
function barNumbers(spec, shown, value, lying, room) {
  if (shown.length !== 1 || spec.categories.length > 12 || !lying) return { label: {}, space: 0 };
  const text = (category) => numberWithUnit(shown[0].series.values[category], value.unit);
  const label = {
    show: true, position: 'right', formatter: (item) => text(item.dataIndex),
    color: room.theme.ink, fontSize: room.fontSize, fontFamily: room.theme.font,
    textBorderColor: room.theme.surface, textBorderWidth: 3,
  };
  return { label, space: widestOf(spec.categories.map((_, category) => text(category)), room) + 8 };
}

function barsTip(spec, shown, value, room) {
  return (items) => {
    if (!items.length) return '';
    const category = items[0].dataIndex;
    const text = (number) => numberWithUnit(number, value.unit);
    const rows = shown.map(({ series, index }) => (
      tipRow(seriesColor(room.theme, index), series.name, text(series.values[category]))));
    if (spec.stacked && shown.length > 1) {
      const total = stackedTotals(spec, shown, 1)[category] + stackedTotals(spec, shown, -1)[category];
      rows.push(tipRow('', 'total', text(total)));
    }
    const name = spec.categories[category];
    return tipOf(categoryTitle(spec) ? `${categoryTitle(spec)}: ${name}` : name, rows);
  };
}

function barCategories(spec, lying, room) {
  const entries = spec.categories.map((_, category) => ({
    value: categoryText(spec, category),
    textStyle: isStressed(spec, category) ? { fontWeight: 'bold', color: room.theme.ink } : {},
  }));
  const perBar = (room.width - 60) / Math.max(1, entries.length);
  const width = lying ? room.width * 0.36 : Math.max(40, perBar - 6);
  return categoryAxis(entries, room, {
    inverse: lying,
    axisLabel: { width, overflow: 'truncate', hideOverlap: true, ...(perBar >= 40 || lying ? { interval: 0 } : {}) },
  });
}

/// What differs between bars that lie and bars that stand: which axis is where, and what surrounds them.
function lyingBars(spec, value, scale, space, room) {
  const names = spec.categories.map((_, category) => categoryText(spec, category));
  const around = gridAround(names, tickTexts(scale), room);
  const grid = { ...around, top: spaceAbove(spec), right: Math.max(around.right, space) };
  return {
    option: {
      ...(categoryTitle(spec) ? { title: uprightName(categoryTitle(spec), room) } : {}),
      grid,
      xAxis: below(valueAxis(scale, room), axisName(value, scale)),
      yAxis: barCategories(spec, true, room),
    },
    rules: uprightRules(spec.rules, value, scale, grid, room),
  };
}

function standingBars(spec, value, scale, room) {
  const categories = barCategories(spec, false, room);
  const title = categoryTitle(spec);
  return {
    option: {
      title: uprightName(axisName(value, scale), room),
      grid: { ...gridAround(tickTexts(scale), [], room), bottom: title ? 52 : 30 },
      xAxis: title ? below(categories, title) : categories,
      yAxis: valueAxis(scale, room),
    },
    rules: levelRules(spec.rules, value, scale, room),
  };
}

/// In front of the bars, behind the numbers at them. Each dashed line lies on one of the colour of the page: on a bar
/// itself it would hardly be seen.
function amongBars(rules, room) {
  const ground = { label: { show: false }, lineStyle: { color: room.theme.surface, width: 3.5, type: 'solid' } };
  const lines = rules.markLine.data;
  const grounds = lines.map((line) => (
    Array.isArray(line) ? [{ ...line[0], ...ground }, line[1]] : { ...line, ...ground }));
  return { ...rules, markLine: { ...rules.markLine, z: 2, z2: 2, data: [...grounds, ...lines] } };
}

function barsPicture(spec, room) {
  const lying = barsLieDown(spec, room.width);
  const shown = shownSeries(spec, room);
  // A sum of logarithms is not the logarithm of a sum.
  const value = { ...spec.value, log: spec.value.log && !spec.stacked };
  const scale = barsScale(spec, shown, value, lying ? horizontalCount(room) : verticalCount(room));
  const numbers = barNumbers(spec, shown, value, lying, room);
  const { option, rules } = lying
    ? lyingBars(spec, value, scale, numbers.space, room) : standingBars(spec, value, scale, room);
  const bars = shown.map((entry) => ({ ...barSeries(entry, spec, scale, room), label: numbers.label }));
  return {
    legend: legendOf(spec, room, () => ({ kind: 'bar' })),
    option: {
      ...baseOption(room),
      ...option,
      tooltip: tooltipOf(room, 'axis', barsTip(spec, shown, value, room), { type: 'shadow' }),
      series: [...bars, ...rules.map((series) => amongBars(series, room))],
    },
  };
}

function barsSize(spec, width) {
  if (!barsLieDown(spec, width)) return { height: 320 };
  const perCategory = between(18, 34 - spec.categories.length / 4, 34);
  const side = spec.stacked ? 1 : between(1, spec.series.length * 0.6, 3);
  return { height: Math.round(58 + spaceAbove(spec) + spec.categories.length * perCategory * side) };
}

CHARTS.bars = { draw: drawnByECharts(barsPicture), size: barsSize };
