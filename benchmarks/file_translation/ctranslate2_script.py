"""A minimal CTranslate2 script: reads tokens from a file and writes tokens to a file.

It runs in the environment of CTranslate2, without Weft:

    ctranslate2_script.py MODEL INPUT OUTPUT PRECISION BEAM WORKERS SIZE UNIT LONGEST

The library sorts all lines by length, makes batches of SIZE, counted in UNIT (examples or tokens), and distributes them
over its single-threaded workers. Outputs have at most LONGEST tokens.
"""

import sys
from pathlib import Path

import ctranslate2

SEPARATOR = "\x1f"  # between tokens: a piece may contain a space

if __name__ == "__main__":
    model, source, output, precision, beam, workers, size, unit, longest = sys.argv[1:]
    translator = ctranslate2.Translator(model, compute_type=precision, inter_threads=int(workers), intra_threads=1)
    with Path(source).open(encoding="utf-8", newline="\n") as file:
        lines = [line.removesuffix("\n").split(SEPARATOR) for line in file]
    results = translator.translate_batch(
        lines, beam_size=int(beam), max_batch_size=int(size), batch_type=unit, max_decoding_length=int(longest)
    )
    with Path(output).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(SEPARATOR.join(result.hypotheses[0]) + "\n" for result in results)
