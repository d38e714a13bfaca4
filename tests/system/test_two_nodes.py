"""torchrun on two nodes (network namespaces) that share neither a token cache nor a working folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch.testing import assert_close

from system import toys
from system.commands import weft
from system.nodes import PORT, Node, address_of, two_nodes, wait_for_result, wait_for_step
from system.training_runs import run_contents

STEPS = 16
NO_DROPOUT = [f"model.{slot}.dropout=0" for slot in ("source", "encoder", "target", "decoder")]
# SGD, because Adam amplifies rounding errors.
EXACT = [
    *NO_DROPOUT,
    "train.optimizer=sgd",
    "train.schedule.learning_rate=0.3",
]


def static_options(node: Node) -> list[str]:
    """torchrun options with the node's number and the address of the first node."""
    return ["--node-rank", str(node.number), "--master-addr", address_of(0), "--master-port", str(PORT)]


def rendezvous_options(node: Node) -> list[str]:
    """torchrun options for the c10d rendezvous, which assigns the numbers."""
    return [
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{address_of(0)}:{PORT}", "--rdzv-id", "toy"),
        *("--rdzv-conf", f"is_host={int(node.number == 0)}", "--local-addr", node.address),
    ]


LAUNCH_OPTIONS = {"numbers": static_options, "rendezvous": rendezvous_options}


@pytest.fixture(scope="module")
def recipe(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    node = toys.recipe(corpus, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 8, "lines": 4, "search": "greedy"}, "log_every": 1}
    return toys.write_recipe(tmp_path_factory.mktemp("nodes") / "recipe.yaml", node)


@pytest.fixture(scope="module")
def single_process_run(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a single process."""
    run = tmp_path_factory.mktemp("single") / "run"
    assert weft("train", recipe, *EXACT, "--out", run).code == 0
    return run


def options(launch_options: Callable[[Node], list[str]], node: Node) -> list[str]:
    return ["--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "2", *launch_options(node)]


@pytest.mark.slow
@pytest.mark.parametrize("launch", LAUNCH_OPTIONS)
def test_two_nodes_match_a_single_process(launch: str, recipe: Path, single_process_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with two_nodes(tmp_path) as nodes:
        command: list[str | Path] = ["train", recipe, *EXACT, "--out", run]
        started = [node.start(options(LAUNCH_OPTIONS[launch], node), command) for node in nodes]
        results = [wait_for_result(node, process) for node, process in zip(nodes, started, strict=True)]
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    found, expected = (load_file(folder / "last" / "weights.safetensors") for folder in (run, single_process_run))
    assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_run_with_a_restarted_node_ends_like_an_undisturbed_run(recipe: Path, tmp_path: Path) -> None:
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "run"
    with two_nodes(tmp_path) as nodes:
        for out, kill in ((undisturbed, False), (run, True)):
            command: list[str | Path] = ["train", recipe, "--out", out]
            first, second = (node.start(options(static_options, node), command) for node in nodes)
            if kill:
                wait_for_step(out / "log.jsonl", 4, nodes[0])  # after the first checkpoint
                nodes[1].kill()
                second.wait()
                second = nodes[1].start(options(static_options, nodes[1]), command)
            results = [wait_for_result(node, process) for node, process in zip(nodes, (first, second), strict=True)]
            assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    assert "resuming after step" in results[0].err
    assert run_contents(run) == run_contents(undisturbed)
