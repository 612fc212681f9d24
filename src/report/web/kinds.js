// The kinds of charts. The file of each adds itself to this table:
//   draw(view, room)   draws view.spec into view.plot; room says how large, in which theme, on paper or not, and which
//                      series are hidden
//   size(spec, width)  height and, if pictures of the kind can be too wide, maxWidth

const CHARTS = Object.create(null);

const usualSize = (_, width) => ({ height: width < 520 ? 280 : 340 });
