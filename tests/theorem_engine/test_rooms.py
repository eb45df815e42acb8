"""The rooms of the engine: imports go to rooms above only, and no two modules import each other."""

import ast
from pathlib import Path

import networkx
import pytest

import theorem_engine

ENGINE = Path(theorem_engine.__file__).parent
#: In the order of the data's way: a room imports from itself and from those before it.
ROOMS = ("base", "language", "planning", "numerics", "backends", "asking", "sweeping", "checking", "showing")


def _modules():
    found = {}
    for path in ENGINE.rglob("*.py"):
        parts = path.relative_to(ENGINE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _is_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(path, *, for_types=True):
    """Modules of the engine that a file imports anywhere, inside functions too."""
    found, waiting = set(), [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if not for_types and _is_for_types(node):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports name their module in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
        waiting.extend(ast.iter_child_nodes(node))
    return {name for name in found if name in MODULES}


def _room(module):
    return [*module.split("."), ""][1]


def test_every_module_lies_in_a_room():
    assert {_room(m) for m in MODULES} == {"", "__main__", *ROOMS}
    assert len(list(ENGINE.glob("*.py"))) <= 12


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_rooms_above_only(room):
    """Names that stand for types only count too: a reader follows them all the same."""
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    wrong = [
        f"{module} imports {other}"
        for module, path in sorted(MODULES.items())
        if _room(module) == room
        for other in sorted(imports(path))
        if _room(other) not in allowed
    ]
    assert wrong == []


def test_no_module_imports_itself_through_others():
    graph = networkx.DiGraph()
    for module, path in MODULES.items():
        graph.add_edges_from((module, other) for other in imports(path, for_types=False) if other != module)
    assert [sorted(group) for group in networkx.strongly_connected_components(graph) if len(group) > 1] == []


def test_the_engine_names_no_paper():
    papers = [
        folder.name
        for folder in (ENGINE.parent / "registry").iterdir()
        if folder.is_dir() and folder.name[-4:].isdigit()
    ]
    assert papers
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert not any(paper in ast.dump(node) for paper in papers), module


def test_the_registry_holds_no_numerics():
    """Entries are mathematics; what one paper needs of NumPy stands in its methods, readers and figures."""
    allowed = ("methods.py", "readers.py")
    for path in (ENGINE.parent / "registry").rglob("*.py"):
        used = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            used |= {name.partition(".")[0] for name in names}
        assert "matplotlib" not in used, path.name
        if path.name not in allowed and not path.name.endswith("figures.py"):
            assert not used & {"numpy", "scipy", "mpmath", "numba"}, path.name


def test_no_function_of_the_registry_takes_more_than_eight_parameters():
    crowded = []
    for path in (ENGINE.parent / "registry").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                count = sum(map(len, (node.args.posonlyargs, node.args.args, node.args.kwonlyargs)))
                if count > 8:
                    crowded.append(f"{path.parent.name}/{path.name}: {node.name} takes {count}")
    assert crowded == []
