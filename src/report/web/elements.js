// Elements of the page. Every string of a chart comes from somebody's data. It reaches the page as text (textContent,
// SVG text), never as HTML: tooltips are elements made here, and ECharts is given functions, not its text templates.

const SVG_SPACE = 'http://www.w3.org/2000/svg';

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function element(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

function svgElement(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElementNS(SVG_SPACE, tag), attributes);
  node.append(...children);
  return node;
}
