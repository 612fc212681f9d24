// Numbers for people.

const HARD_SPACE = '\u00a0';
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

const PREFIXES = {
  B: [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]],
  s: [['s', 1], ['ms', 1e-3], ['µs', 1e-6], ['ns', 1e-9]],
};

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const between = (low, value, high) => Math.min(high, Math.max(low, value));
const withMinusSign = (text) => text.replace('-', '−');

function powerOfTen(exponent) {
  if (exponent === 1) return '10';
  return '10' + String(exponent).replace('-', '⁻').replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
}

/// 1.23 × 10⁻⁹, and 10⁻⁹ instead of 1 × 10⁻⁹.
function scientific(value, digits = 3) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
  const short = String(Number(mantissa));
  if (Number(exponent) === 0) return withMinusSign(short);
  const power = powerOfTen(Number(exponent));
  if (short === '1') return power;
  return short === '-1' ? withMinusSign('-' + power) : `${withMinusSign(short)}${HARD_SPACE}×${HARD_SPACE}${power}`;
}

function plainNumber(value, digits = 4) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-3 || size >= (Number.isInteger(value) ? 1e12 : 1e7)) return scientific(value, digits);
  // All digits before the point: 123,457 rather than 123,500.
  const wanted = Math.max(digits, Math.floor(Math.log10(size)) + 1);
  return withMinusSign(value.toLocaleString('en', { maximumSignificantDigits: wanted }));
}

/// The name and size of the unit in which a value of this size reads best.
function prefixedUnit(unit, size) {
  const choices = PREFIXES[unit];
  if (!choices) return { name: unit || '', size: 1 };
  if (size === 0) return { name: unit, size: 1 };
  // 999.9 and more would be printed as 1,000 of the smaller unit.
  const [name, unitSize] = choices.find((choice) => size >= 0.9995 * choice[1]) || choices[choices.length - 1];
  return { name, size: unitSize };
}

function numberWithUnit(value, unit, digits = 4) {
  if (!isNumber(value)) return '–';
  const best = prefixedUnit(unit, Math.abs(value));
  const number = plainNumber(value / best.size, digits);
  if (!best.name) return number;
  return best.name === '%' ? number + '%' : number + HARD_SPACE + best.name;
}
