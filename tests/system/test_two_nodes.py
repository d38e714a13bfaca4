"""Two ranks on two machines (network namespaces) that share neither a token cache nor a working folder, by torchrun."""

from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch.testing import assert_close

from system import toys
from system.commands import weft
from system.following import left_behind
from system.nodes import PORT, Node, address_of, ended, two_nodes, wait_for_step

STEPS = 16
NO_DROPOUT = [f"model.{slot}.dropout=0" for slot in ("source", "encoder", "target", "decoder")]
EXACT = [*NO_DROPOUT, "train.optimizer=sgd", "train.schedule.learning_rate=0.3"]  # Adam makes steps of what should be 0


def by_number(node: Node) -> list[str]:
    """Each machine is told its number, and where the first is."""
    return ["--node-rank", str(node.number), "--master-addr", address_of(0), "--master-port", str(PORT)]


def by_rendezvous(node: Node) -> list[str]:
    """The machines number themselves at the place where they meet."""
    return [
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{address_of(0)}:{PORT}", "--rdzv-id", "toy"),
        *("--rdzv-conf", f"is_host={int(node.number == 0)}", "--local-addr", node.address),
    ]


MEETINGS = {"numbers": by_number, "rendezvous": by_rendezvous}


@pytest.fixture(scope="module")
def recipe(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    node = toys.recipe(corpus, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 8, "lines": 4, "search": "greedy"}, "log_every": 1}
    return toys.write_recipe(tmp_path_factory.mktemp("nodes") / "recipe.yaml", node)


@pytest.fixture(scope="module")
def alone(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one process."""
    run = tmp_path_factory.mktemp("alone") / "run"
    assert weft("train", recipe, *EXACT, "--out", run).code == 0
    return run


def options(meet: Callable[[Node], list[str]], node: Node) -> list[str]:
    return ["--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "2", *meet(node)]


@pytest.mark.slow
@pytest.mark.parametrize("meeting", MEETINGS)
def test_two_nodes_do_what_one_process_does(meeting: str, recipe: Path, alone: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with two_nodes(tmp_path) as nodes:
        command: list[str | Path] = ["train", recipe, *EXACT, "--out", run]
        started = [node.start(options(MEETINGS[meeting], node), command) for node in nodes]
        results = [ended(node, process) for node, process in zip(nodes, started, strict=True)]
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    found, wanted = (load_file(folder / "last" / "weights.safetensors") for folder in (run, alone))
    assert_close(found, wanted, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_a_node_that_dies_is_started_again_and_the_run_ends_as_if_nothing_had_been(
    recipe: Path, tmp_path: Path
) -> None:
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "run"
    with two_nodes(tmp_path) as nodes:
        for out, dies in ((undisturbed, False), (run, True)):
            command: list[str | Path] = ["train", recipe, "--out", out]
            first, second = (node.start(options(by_number, node), command) for node in nodes)
            if dies:
                wait_for_step(out / "log.jsonl", 4, nodes[0])  # there is a checkpoint, and most is yet to come
                nodes[1].kill()
                second.wait()
                second = nodes[1].start(options(by_number, nodes[1]), command)
            results = [ended(node, process) for node, process in zip(nodes, (first, second), strict=True)]
            assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    assert "resuming after step" in results[0].err
    assert left_behind(run) == left_behind(undisturbed)
