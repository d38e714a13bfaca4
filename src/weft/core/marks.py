"""The three marks that no text can contain: their ids are ours, the tokenizer's pieces come after them."""

PAD = 0
BEGIN = 1
END = 2
FIRST_PIECE = 3
NAMES = ("<pad>", "<begin>", "<end>")
