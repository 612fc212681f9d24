// Rules: dashed lines across a plot, each at one value of an axis and with a name.

const RULE_ROW = 20;

const plottedRules = (rules, scale) => (rules || []).filter((rule) => scale.toPlot(rule.value) !== null);

function ruleLabel(rule, axis, room) {
  const { theme } = room;
  return {
    formatter: () => `${rule.name}: ${numberWithUnit(rule.value, axis.unit)}`,
    color: theme.rule, fontSize: room.fontSize, fontFamily: theme.font,
    textBorderColor: theme.surface, textBorderWidth: 3,
    width: room.width * 0.6, overflow: 'truncate',
  };
}

/// A series that has nothing but these lines; none if there are none.
function ruleSeries(lines, room) {
  const lineStyle = { color: room.theme.rule, width: 1.5, type: [5, 4] };
  const markLine = { silent: true, symbol: 'none', lineStyle, data: lines };
  return lines.length ? [{ id: 'rules', type: 'line', data: [], markLine }] : [];
}

/// Across an upright axis of values: the names stand on the lines.
function levelRules(rules, axis, scale, room) {
  return ruleSeries(plottedRules(rules, scale).map((rule, i) => ({
    yAxis: scale.toPlot(rule.value),
    // Neighbours stand at different ends, or they would cover one another.
    label: { ...ruleLabel(rule, axis, room), position: i % 2 ? 'insideEndTop' : 'insideStartTop' },
  })), room);
}

/// Across a level axis of values: the names are flags above the plot, each in a row of its own. A name along the line
/// would have to be read with one's head turned.
function uprightRules(rules, axis, scale, grid, room) {
  const shown = plottedRules(rules, scale);
  return ruleSeries(shown.map((rule, row) => {
    const place = scale.toPlot(rule.value);
    const part = (place - scale.min) / (scale.max - scale.min);
    const x = grid.left + part * (room.width - grid.left - grid.right);
    // To the side that has more space.
    const side = 2 * x < room.width
      ? { align: 'left', padding: [0, 0, 0, 6] } : { align: 'right', padding: [0, 6, 0, 0] };
    const label = {
      ...ruleLabel(rule, axis, room), ...side, position: 'start', verticalAlign: 'middle',
      width: Math.max(x, room.width - x) - 8,
      // Below the upper end of the line, not above it.
      distance: -RULE_ROW / 2,
    };
    return [{ xAxis: place, y: grid.top - RULE_ROW * (shown.length - row), label },
      { xAxis: place, y: room.height - grid.bottom }];
  }), room);
}
