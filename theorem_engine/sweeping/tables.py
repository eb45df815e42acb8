"""Labelled data sets as plain data, as CSV and as netCDF."""

from __future__ import annotations

import csv
import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from theorem_engine.base.files import write_whole
from theorem_engine.base.text import jsonable


def dataset_json(data: Any) -> dict[str, Any]:
    """Coordinates, outputs and provenance of a data set as plain JSON data."""

    def variables(names: Any) -> dict[str, Any]:
        return {
            str(name): {"dims": list(data[name].dims), "values": jsonable(data[name].values, None), **data[name].attrs}
            for name in names
        }

    return {"attributes": dict(data.attrs), "coordinates": variables(data.coords), "outputs": variables(data.data_vars)}


#: What attributes of a netCDF file may be.
_PLAIN = (str, float, list, tuple, np.ndarray, np.integer, np.floating)
#: Endings of the names of files that data can be written to.
ENDINGS = (".csv", ".nc")


def write_csv(data: Any, stream: Any) -> None:
    """One line per point, coordinates first; one per number where variables have no axes in common."""
    import xarray

    all_axes = [set(data[name].dims) for name in (*data.coords, *data.data_vars)]
    if not any(axes >= set().union(*all_axes) for axes in all_axes or [set()]):
        # not the product of axes that have nothing to do with each other
        _write_numbers(data, stream)
        return
    names = [*data.coords, *data.data_vars]
    columns = [array.values.ravel().tolist() for array in xarray.broadcast(*(data[name] for name in names))]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))


def _write_numbers(data: Any, stream: Any) -> None:
    """One line per number: the axes of all variables, empty where one has them not, its name and its value."""
    axes = [str(axis) for axis in data.sizes]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*axes, "variable", "value"])
    for name in data.data_vars:
        values = data[name].values
        for place in np.ndindex(values.shape):
            here = dict(zip(data[name].dims, place, strict=True))
            places = [data[axis].values[here[axis]].item() if axis in here else "" for axis in axes]
            value = values[place]
            writer.writerow([*places, name, value.item() if hasattr(value, "item") else value])


def write_dataset(data: Any, path: Path, *, overwrite: bool = True) -> None:
    """A file whose ending says how: ``.csv``, or ``.nc`` for netCDF with provenance in its attributes."""
    write_whole(path, _csv_text(data) if path.suffix == ".csv" else netcdf(data), overwrite=overwrite)


def _csv_text(data: Any) -> str:
    stream = io.StringIO(newline="")
    write_csv(data, stream)
    return stream.getvalue()


def netcdf(data: Any) -> bytes:
    """The file in memory: the HDF5 library, left alone with a full disk, brings the whole process down."""
    # SciPy is always there; it writes the older netCDF 3, which has no compression
    has_hdf5 = find_spec("h5netcdf") is not None and find_spec("h5py") is not None
    told = {name: value if isinstance(value, _PLAIN) else str(value) for name, value in data.attrs.items()}
    return bytes(data.assign_attrs(told).to_netcdf(engine="h5netcdf" if has_hdf5 else "scipy"))
