import time
from system import toys
from system.commands import weft, running
from weft.config.document import as_text
def test_probe(corpus, tmp_path):
    for n in range(4):
        t=time.time(); weft("--version"); print(time.time()-t)
    t=time.time(); weft("show", "configs/transformer-small.yaml"); print(time.time()-t)
