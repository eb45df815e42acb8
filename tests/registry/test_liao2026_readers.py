"""Weights from a file: known structure is found, malformed files are refused, nothing is executed."""

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import sympy

import theorem_engine as te
from theorem_engine.base.errors import OutOfDomain, ValidityWarning
from theorem_engine.registry.liao2026.readers import read_weights, split_rank_one

SIZE = 192
#: tanh behind three times the identity.
STEEP = sympy.tanh(3 * sympy.Symbol("t"))
QUERY = {"c": 1, "gamma": 1, "nonlinearity": "tanh", "snr": 1}


def write_safetensors(path, arrays, names=None):
    """A file as the format's page describes it."""
    header, data = {"__metadata__": {"made": "for a test"}}, b""
    kinds = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64"}
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": kinds[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def layer():
    """W_K^T W_Q = 3 (I + w_K w_Q^T) with w_K = w_Q = mu of squared length two."""
    rng = np.random.default_rng(0)
    mu = rng.standard_normal(SIZE)
    mu *= np.sqrt(2) / np.linalg.norm(mu)
    key = np.linalg.qr(rng.standard_normal((SIZE, SIZE)))[0]
    return {"W_K": key, "W_Q": 3 * key @ (np.eye(SIZE) + np.outer(mu, mu)), "mu": mu}


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_known_structure_is_found_and_predicted(layer, tmp_path, kind):
    path = tmp_path / f"layer.{kind}"
    np.savez(path, **layer) if kind == "npz" else write_safetensors(path, layer)
    found = split_rank_one("", *read_weights(str(path)))
    assert (found.scale, found.strength) == (pytest.approx(3), pytest.approx(2))
    assert found.rest < 1e-12
    with pytest.warns(ValidityWarning, match="eps2 = 1.69"):
        prediction = te.predict("liao2026.interpolation-error", **QUERY, weights_file=str(path))
    by_hand = {"key_norm2": 2, "query_norm2": 2, "key_query": 2, "mu_key": "sqrt(2)", "mu_query": "sqrt(2)"}
    assert prediction.value == pytest.approx(
        te.predict("liao2026.interpolation-error", **{**QUERY, **by_hand, "nonlinearity": STEEP}).value, rel=1e-9
    )
    assert "rest of norm" in str(prediction.point["weights_file"])


def test_without_a_direction_the_weights_count_as_orthogonal(layer, tmp_path):
    path = tmp_path / "layer.npz"
    np.savez(path, W_K=layer["W_K"], W_Q=layer["W_Q"])
    with pytest.warns(ValidityWarning, match="eps2"):
        value = te.predict("liao2026.interpolation-error", **QUERY, weights_file=path).value
    plain = te.predict("liao2026.interpolation-error", **{**QUERY, "nonlinearity": STEEP}, weights="orthogonal")
    assert value == pytest.approx(plain.value, rel=1e-12)


def test_a_layer_of_gpt2_is_cut_as_documented(tmp_path):
    """Columns of c_attn are queries, keys, values; heads are 64 columns each."""
    rng = np.random.default_rng(1)
    query, key, value = rng.standard_normal((3, SIZE, SIZE)).astype(np.float32) / 20
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"transformer.h.2.attn.c_attn.weight": np.hstack([query, key, value])})
    whole, _ = read_weights(f"{path}#2")
    assert np.allclose(whole, key @ query.T, atol=1e-5)
    head, _ = read_weights(f"{path}#2.1")
    assert np.allclose(head, key[:, 64:128] @ query[:, 64:128].T, atol=1e-5)
    for place in (f"{path}#0", f"{path}#2.7"):
        with pytest.raises(OutOfDomain):
            te.predict("liao2026.interpolation-error", **QUERY, weights_file=place)


def test_a_layer_far_from_identity_is_warned_about(tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "far.npz"
    np.savez(path, W_K=np.eye(50), W_Q=np.eye(50) + 0.3 * rng.standard_normal((50, 50)))
    with pytest.warns(ValidityWarning, match="rest of norm"):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file=path)


def _header(text, data=b""):
    raw = text if isinstance(text, bytes) else json.dumps(text).encode()
    return struct.pack("<Q", len(raw)) + raw + data


GOOD = {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}
SECOND = {**GOOD, "data_offsets": [32, 64]}
EYE = np.eye(2).tobytes()
BAD = {
    "empty.safetensors": b"",
    "short.safetensors": b"\x01",
    "long-header.safetensors": struct.pack("<Q", 2**60) + b"{}",
    "not-json.safetensors": _header(b"{W_K"),
    "not-an-object.safetensors": _header([1, 2]),
    "deep.safetensors": _header(b"[" * 100_000),
    "twice.safetensors": _header(b'{"W_K": 1, "W_K": 2}'),
    "no-offsets.safetensors": _header({"W_K": {"dtype": "F64", "shape": [2, 2]}}, EYE),
    "negative.safetensors": _header({"W_K": {**GOOD, "data_offsets": [-32, 0]}}, EYE),
    "outside.safetensors": _header({"W_K": {**GOOD, "data_offsets": [32, 64]}}, EYE),
    "wrong-shape.safetensors": _header({"W_K": {**GOOD, "shape": [2, 3]}}, EYE),
    "float-shape.safetensors": _header({"W_K": {**GOOD, "shape": [2.0, 2]}}, EYE),
    "overlap.safetensors": _header({"W_K": GOOD, "W_Q": GOOD}, EYE),
    "trailing.safetensors": _header({"W_K": GOOD}, EYE + b"more"),
    "only-keys.safetensors": _header({"W_K": GOOD}, EYE),
    "word-for-dtype.safetensors": _header({"W_K": {**GOOD, "dtype": []}}, EYE),
    "many-dimensions.safetensors": _header({"W_K": {**GOOD, "shape": [1] * 99 + [4]}, "W_Q": SECOND}, EYE + EYE),
    "eight-bits.safetensors": _header({"W_K": {**GOOD, "dtype": "F8_E4M3"}, "W_Q": SECOND}, EYE + EYE),
    "empty.npz": b"",
    "not-a-zip.npz": b"PK\x03\x04 and nothing else",
    "pickled.npz": pickle.dumps({"W_K": 1}),
    "weights.bin": EYE,
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_are_refused(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(BAD[name])
    with pytest.raises(OutOfDomain, match=r"liao2026\.interpolation-error: weights_file"):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file=str(path))
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "arrays",
    [
        {"W_K": np.eye(3), "W_Q": np.eye(4)},
        {"W_K": np.eye(3)},
        {"W_K": np.eye(3), "W_Q": np.full((3, 3), np.nan)},
        {"W_K": np.eye(3), "W_Q": np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 0]])},
        {"W_K": np.eye(3), "W_Q": np.eye(3), "mu": np.zeros(3)},
        {"W_K": np.eye(3), "W_Q": np.array([["a"] * 3] * 3)},
        {"W_K": np.ones(3), "W_Q": np.ones(3)},
        {"W_K": np.ones((0, 3)), "W_Q": np.ones((0, 3))},
        {"W_K": np.ones((1, 3)), "W_Q": np.ones((1, 3))},
        {"W_K": np.eye(3) + 0j, "W_Q": np.eye(3)},
        {"W_K": 1e200 * np.eye(3), "W_Q": 1e200 * np.eye(3)},
        {"W_K": np.eye(3), "W_Q": np.eye(3), "mu": np.ones(4)},
        {"another": np.eye(3)},
    ],
)
def test_arrays_that_make_no_layer_are_refused(arrays, tmp_path):
    path = tmp_path / "layer.npz"
    np.savez(path, **arrays)
    with pytest.raises(OutOfDomain):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file=path)


def test_a_pickle_inside_an_archive_is_not_opened(tmp_path):
    path = tmp_path / "layer.npz"
    np.savez(path, W_K=np.array([{"a": 1}], dtype=object), W_Q=np.eye(2))
    with pytest.raises(OutOfDomain, match="readable"):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file=path)


def _archive(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)


def _npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _claim(shape):
    """The header of a .npy file without the numbers it promises."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def _corrupted(path):
    np.savez_compressed(path, W_K=np.random.default_rng(0).random((30, 30)), W_Q=np.eye(30))
    raw = bytearray(path.read_bytes())
    for place in range(100, 140):
        raw[place] ^= 0xFF
    path.write_bytes(raw)


def _locked(path):
    """An archive whose members are marked as encrypted."""
    np.savez(path, W_K=np.eye(3), W_Q=np.eye(3))
    raw = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = raw.find(mark)
        while place >= 0:
            raw[place + offset] |= 1
            place = raw.find(mark, place + 1)
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda path: path.write_bytes(_npy(np.eye(3))), "no readable"),
        (lambda path: _archive(path, W_K=b"raw", W_Q=b"raw"), "its arrays: none"),
        (lambda path: _archive(path, W_K__npy=_claim((2, 2)), W_Q__npy=_npy(np.eye(2))), "no readable"),
        (lambda path: _archive(path, W_K__npy=_claim((10**6, 10**6)), W_Q__npy=_npy(np.eye(2))), "not read"),
        (_corrupted, "no readable"),
        (_locked, "encrypted"),
        (lambda path: path.mkdir(), "a folder"),
    ],
    ids=["array", "raw", "cut off", "huge", "corrupted", "locked", "folder"],
)
def test_archives_that_are_none_are_refused_in_words(write, says, tmp_path):
    path = tmp_path / "layer.npz"
    write(path)
    with pytest.raises(OutOfDomain, match=rf"liao2026\.interpolation-error: weights_file.*{says}"):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file=path)


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_a_file_that_may_not_be_read_is_refused_in_words(ending, layer, tmp_path, monkeypatch):
    path = tmp_path / f"layer.{ending}"
    np.savez(path, **layer) if ending == "npz" else write_safetensors(path, layer)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr("zipfile.ZipFile.__init__", refuse)
    with pytest.raises(OutOfDomain, match=r"cannot be read \(Permission denied\)"):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file=str(path))


def test_a_name_that_is_too_long_is_refused_in_words():
    with pytest.raises(OutOfDomain, match="too long"):
        te.predict("liao2026.interpolation-error", **QUERY, weights_file="x" * 5000 + ".npz")


def test_arrays_that_are_not_asked_for_are_not_read(tmp_path):
    """A pickle, a false promise and a type we do not know may lie beside the weights."""
    path, other = tmp_path / "layer.npz", tmp_path / "layer.safetensors"
    strange = io.BytesIO()
    np.save(strange, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    _archive(
        path, W_K__npy=_npy(np.eye(2)), W_Q__npy=_npy(np.eye(2)), a__npy=strange.getvalue(), b__npy=_claim((9**9,))
    )
    beside = {"dtype": "C64", "shape": [3], "data_offsets": [64, 88]}
    empty = {"dtype": "F64", "shape": [0, 10**30], "data_offsets": [0, 0]}
    other.write_bytes(_header({"e": empty, "W_K": GOOD, "W_Q": SECOND, "x": beside}, EYE + EYE + bytes(24)))
    for place in (path, other):
        assert np.array_equal(read_weights(str(place))[0], np.eye(2))


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_whole_numbers_are_read(kind, tmp_path):
    path = tmp_path / f"layer.{kind}"
    arrays = {"W_K": np.eye(3, dtype=np.int64), "W_Q": 2 * np.eye(3, dtype=np.int64)}
    np.savez(path, **arrays) if kind == "npz" else write_safetensors(path, arrays)
    assert np.array_equal(read_weights(str(path))[0], 2 * np.eye(3))


@pytest.mark.parametrize("size", [1, 2, 100, 1100])
def test_a_multiple_of_the_identity_has_no_rank_one_part(size):
    found = split_rank_one("", 3 * np.eye(size))
    assert (found.scale, found.strength, found.rest) == (3, 0, 0)


@pytest.mark.parametrize("size", [5, 1100])
def test_a_rank_one_part_orthogonal_to_the_vector_of_ones_is_found(size):
    w = np.zeros(size)
    w[:2] = 1, -1
    found = split_rank_one("", np.eye(size) + np.outer(w, w))
    assert (found.scale, found.strength) == (pytest.approx(1), pytest.approx(2))
    assert found.rest < 1e-12


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_the_unit_of_weights_and_signal_does_not_matter(unit, layer, tmp_path):
    path = tmp_path / "layer.npz"
    np.savez(path, W_K=unit * layer["W_K"], W_Q=unit * layer["W_Q"], mu=unit**2 * layer["mu"])
    found = split_rank_one("", *read_weights(str(path)))
    assert found.scale == pytest.approx(3 * unit**2, rel=1e-9)
    assert found.strength == pytest.approx(2, rel=1e-9)
    assert found.key_along * found.query_along == pytest.approx(2, rel=1e-9)


def test_a_layer_of_gpt2_may_have_a_direction_beside_it(tmp_path):
    path = tmp_path / "layer.npz"
    mu = np.arange(1.0, 6.0)
    query = np.eye(5) + np.outer(mu, mu)
    np.savez(path, **{"h.3.attn.c_attn.weight": np.hstack([query, np.eye(5), np.eye(5)]), "mu": mu})
    found = split_rank_one("", *read_weights(f"{path}#3"))
    assert found.key_along * found.query_along == pytest.approx(mu @ mu, rel=1e-9)
