"""CTranslate2 as one would use it by hand: tokens from a file, tokens into a file, nothing else.

It runs in the environment of CTranslate2, where Weft is not:

    by_hand.py MODEL INPUT OUTPUT PRECISION BEAM WORKERS SIZE UNIT LONGEST

All lines are given at once: the library sorts them by length, makes batches of SIZE, counted in UNIT (examples, or
tokens), and shares these out among its workers of one thread. No output is longer than LONGEST tokens.
"""

import sys
from pathlib import Path

import ctranslate2

BETWEEN = "\x1f"  # two tokens: a piece may have a space in it

if __name__ == "__main__":
    model, source, output, precision, beam, workers, size, unit, longest = sys.argv[1:]
    translator = ctranslate2.Translator(model, compute_type=precision, inter_threads=int(workers), intra_threads=1)
    with Path(source).open(encoding="utf-8", newline="\n") as file:
        lines = [line.removesuffix("\n").split(BETWEEN) for line in file]
    results = translator.translate_batch(
        lines, beam_size=int(beam), max_batch_size=int(size), batch_type=unit, max_decoding_length=int(longest)
    )
    with Path(output).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(BETWEEN.join(result.hypotheses[0]) + "\n" for result in results)
