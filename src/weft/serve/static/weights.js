// The attention weights to show: of a head, the mean of a layer, or those that the decoder returns.

import { state } from "./state.js";

export function selectWeights({ weights, layers }) {
  const layer = layers[Number(state.layer) - 1];
  if (!layer) return weights;
  return layer[Number(state.head) - 1] ?? mean(layer);
}

function mean(heads) {
  return heads[0].map((row, r) => row.map((_, c) => heads.reduce((sum, head) => sum + head[r][c], 0) / heads.length));
}
