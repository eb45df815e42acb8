"""Broken files of arrays: seeded mutations are read or refused in words, and limits come before work."""

import io
import json
import random
import struct
import zipfile

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.language.array_files import MAX_ENTRIES, open_arrays
from theorem_engine.language.domains import Rejected
from theorem_engine.registry.liao2026.readers import read_weights, split_rank_one

SYMBOLS = b"()[]{}',:0123456789LfiuO<>|\\\"\n\0 eTrue"


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def mutated(raw, rng, reach):
    """Some bytes changed, taken out, put in or doubled."""
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        place = rng.randrange(min(reach, len(raw)))
        change = rng.randrange(5)
        if change == 0:
            raw[place] = rng.randrange(256)
        elif change == 1:
            raw[place] ^= 1 << rng.randrange(8)
        elif change == 2:
            del raw[place : place + rng.choice([1, 1, 2, 10])]
        elif change == 3:
            raw[place:place] = bytes(rng.choice(SYMBOLS) for _ in range(rng.choice([1, 1, 3, 20])))
        else:
            raw[place:place] = raw[place : place + rng.randrange(30)]
    return bytes(raw)


def safetensors():
    claims = {
        name: {"dtype": "F64", "shape": [6, 6], "data_offsets": [288 * k, 288 * (k + 1)]}
        for k, name in enumerate(("W_K", "W_Q"))
    }
    header = json.dumps(claims).encode()
    return struct.pack("<Q", len(header)) + header + np.eye(6).tobytes() * 2, len(header) + 8


def write_broken(path, kind, rng):
    if kind == "header":
        good = npy(np.eye(6) + 0.1)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("W_K.npy", mutated(good, rng, 140))
            archive.writestr("W_Q.npy", good)
    elif kind == "safetensors":
        raw, reach = safetensors()
        path.write_bytes(mutated(raw, rng, reach))
    else:
        save = np.savez if kind == "archive" else np.savez_compressed
        save(path, W_K=np.eye(6) + 0.1, W_Q=np.eye(6))
        path.write_bytes(mutated(path.read_bytes(), rng, 10**6))


@pytest.mark.parametrize("kind", ["header", "archive", "compressed", "safetensors"])
def test_two_hundred_broken_files_of_each_kind_are_read_or_refused(kind, tmp_path):
    rng = random.Random(f"broken {kind}")
    path = tmp_path / ("layer.safetensors" if kind == "safetensors" else "layer.npz")
    refused = 0
    for _ in range(200):
        write_broken(path, kind, rng)
        try:
            split_rank_one("layer", *read_weights(str(path)))
        except Rejected as problem:
            refused += 1
            assert str(problem).startswith(("is ", "has ", "holds ", "cannot ", "was "))
    assert refused > 100


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 2L)}",
        b"{'shape': (2, 2), 'fortran_order': False, 'descr': '<f8'}",
        b"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }      \n",
    ],
)
def test_headers_old_and_new_are_read(header, tmp_path):
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    raw = values.tobytes(order="F" if b"True" in header else "C")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + raw)
    assert np.array_equal(open_arrays(tmp_path / "a.npz").read("x", 2), values)


@pytest.mark.parametrize("kind", ["f2", "f4", ">f8", "i1", "u2", "<i4", "u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_of_real_number_is_read_as_numpy_reads_it(kind, order, tmp_path):
    values = np.asarray(np.arange(6).reshape(2, 3), dtype=kind, order=order)
    np.savez_compressed(tmp_path / "a.npz", x=values)
    assert np.array_equal(open_arrays(tmp_path / "a.npz").read("x", 2), values)


def claim(path, shape):
    """An archive of a few kilobytes whose arrays are as large as they say."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|i1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("W_K", "W_Q"):
            archive.writestr(f"{name}.npy", stream.getvalue() + bytes(1000))


def long_sizes():
    header = json.dumps({"W_K": {"dtype": "F64", "shape": ["N"] * 500, "data_offsets": [0, 0]}})
    raw = header.replace('"N"', "9" * 4000).encode()
    return struct.pack("<Q", len(raw)) + raw


@pytest.mark.parametrize(
    ("name", "write", "says"),
    [
        ("wide.npz", lambda path: claim(path, (20_000, 20_000)), f"more than {MAX_ENTRIES:,} entries are not read"),
        ("long.npz", lambda path: claim(path, (1, 20_001)), "more than 20000 rows or columns are not read"),
        ("sizes.safetensors", lambda path: path.write_bytes(long_sizes()), "more than 64 dimensions or sizes from"),
        ("head.safetensors", lambda path: path.write_bytes(struct.pack("<Q", 10**7 + 1) + bytes(10**7 + 1)), "10 MB"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_read(name, write, says, tmp_path):
    write(tmp_path / name)
    with pytest.raises(OutOfDomain, match=says):
        te.predict("liao2026.interpolation-error", c=1, gamma=1, nonlinearity="tanh", weights_file=tmp_path / name)


def test_a_header_of_many_sizes_is_refused_before_it_is_multiplied_out(tmp_path):
    sizes = b", ".join([b"9" * 4000] * 500)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + sizes + b")}"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header)
    with pytest.raises(Rejected, match="longer than 10000 bytes"):
        open_arrays(tmp_path / "a.npz").read("x", 2)


def test_a_product_that_takes_too_long_is_not_formed(tmp_path):
    np.savez(tmp_path / "a.npz", W_K=np.zeros((2, 4097), dtype=np.int8), W_Q=np.zeros((2, 4097), dtype=np.int8))
    with pytest.raises(Rejected, match="up to p = 4096 columns"):
        read_weights(str(tmp_path / "a.npz"))
