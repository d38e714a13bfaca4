// From values to places on an axis, and the round numbers that are written on it; as in a terminal.

const ROUND = [1, 2, 2.5, 5];
const POWERS = [1, 2, 5];
const NEARLY = 1e-9;
const WIDE = 30; // times the lowest value: from there on an axis that may be logarithmic is

export function scaleOf(values, most, logarithmic = false) {
  let [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  if (logarithmic && low > 0 && low < high / WIDE) return scale(low, high, powers(low, high, most), Math.log);
  if (high - low <= NEARLY * Math.max(Math.abs(low), Math.abs(high))) {
    const around = Math.abs(low) / 10 || 1;
    [low, high] = [low - around, high + around];
  }
  return scale(low, high, steps(low, high, most), (value) => value);
}

function scale(low, high, ticks, bent) {
  return { ticks, place: (value) => (bent(value) - bent(low)) / (bent(high) - bent(low)) };
}

function steps(low, high, most) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  for (let tens = power; tens < high - low; tens *= 10) {
    for (const step of ROUND.map((number) => number * tens)) {
      const [first, last] = [Math.ceil(low / step - NEARLY), Math.floor(high / step + NEARLY)];
      if (last - first >= 1 && last - first < Math.max(3, most)) return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
    }
  }
  return [low, high];
}

function powers(low, high, most) {
  const found = [];
  for (let tens = 10 ** Math.floor(Math.log10(low)); tens <= high; tens *= 10) found.push(...POWERS.map((number) => number * tens).filter((number) => number >= low && number <= high));
  const every = Math.ceil(found.length / Math.max(2, most));
  return found.filter((_, n) => n % every === 0);
}

// 0.25, 12, 4.5k, 2e-4
export function short(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (Math.abs(value) >= size) return Number((value / size).toPrecision(3)) + letter;
  if (value !== 0 && Math.abs(value) < 1e-2) return value.toExponential(1).replace(".0", "").replace("e+", "e");
  return String(Number(value.toPrecision(3)));
}
