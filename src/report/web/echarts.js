// Charts that ECharts draws. Their kinds make pictures: the option of ECharts, the legend, and a scale of colours if
// there is one.

function baseOption(room) {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: room.theme.font, fontSize: room.fontSize, color: room.theme.ink },
    aria: { enabled: false },
  };
}

function showPicture(view, picture, room) {
  showLegend(view, picture.legend);
  showColorScale(view, picture.scale, room);
  if (!view.chart) {
    view.chart = echarts.init(view.plot, null, { renderer: 'svg', width: room.width, height: room.height });
  }
  view.chart.resize({ width: room.width, height: room.height });
  view.chart.setOption(picture.option, { notMerge: true });
  // Now, not in the next frame: a printer does not wait for one.
  view.chart.getZr().flush();
  // The plot itself has the role img and a name; what is inside says nothing more to those who cannot see it.
  view.plot.querySelector('svg').setAttribute('aria-hidden', 'true');
}

/// A function draw for the table of kinds; picture(spec, room) says what.
const drawnByECharts = (picture) => (view, room) => showPicture(view, picture(view.spec, room), room);
