// Maps values to positions on an axis, and finds round numbers for its ticks.

const ROUND = [1, 2, 2.5, 5];
const POWERS = [1, 2, 5];
const TOLERANCE = 1e-9;
const LOGARITHMIC_FROM = 30; // ratio of the highest to the lowest value

export function makeScale(values, maxTicks, mayBeLogarithmic = false) {
  let [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  if (mayBeLogarithmic && low > 0 && low < high / LOGARITHMIC_FROM) return scale(low, high, logarithmicTicks(low, high, maxTicks), Math.log);
  if (high - low <= TOLERANCE * Math.max(Math.abs(low), Math.abs(high))) {
    const margin = Math.abs(low) / 10 || 1;
    [low, high] = [low - margin, high + margin];
  }
  return scale(low, high, linearTicks(low, high, maxTicks), (value) => value);
}

function scale(low, high, ticks, transform) {
  return { ticks, position: (value) => (transform(value) - transform(low)) / (transform(high) - transform(low)) };
}

function linearTicks(low, high, maxTicks) {
  const smallest = 10 ** Math.floor(Math.log10((high - low) / maxTicks));
  for (let power = smallest; power < high - low; power *= 10) {
    for (const step of ROUND.map((number) => number * power)) {
      const [first, last] = [Math.ceil(low / step - TOLERANCE), Math.floor(high / step + TOLERANCE)];
      if (last - first >= 1 && last - first < Math.max(3, maxTicks)) return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
    }
  }
  return [low, high];
}

function logarithmicTicks(low, high, maxTicks) {
  const ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) ticks.push(...POWERS.map((number) => number * power).filter((number) => number >= low && number <= high));
  const every = Math.ceil(ticks.length / Math.max(2, maxTicks));
  return ticks.filter((_, n) => n % every === 0);
}

// 0.25, 12, 4.5k, 2e-4
export function shortNumber(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (Math.abs(value) >= size) return Number((value / size).toPrecision(3)) + letter;
  if (value !== 0 && Math.abs(value) < 1e-2) return value.toExponential(1).replace(".0", "").replace("e+", "e");
  return String(Number(value.toPrecision(3)));
}
