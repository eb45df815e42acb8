"""Eigenvalues of a small matrix."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.base import Component, Operator, Part


class Eigenvalues(Operator):
    """Eigenvalues of a real matrix, ordered by falling real part: first all real parts, then all imaginary ones."""

    lowering = "eigenvalues"
    entries = Part(0, "The matrix, row by row.", tuple)

    def __new__(cls, matrix: Any) -> Any:
        """Keep the entries row by row."""
        matrix = sympy.Matrix(matrix)
        if matrix.rows != matrix.cols:
            raise TypeError("eigenvalues are of square matrices")
        return sympy.Expr.__new__(cls, sympy.Tuple(*matrix))

    @property
    def order(self) -> int:
        """Rows of the matrix."""
        return int(sympy.sqrt(len(self.entries)))

    def components(self) -> int:
        """Real parts, then imaginary parts."""
        return 2 * self.order

    def real(self, index: int) -> Any:
        """Real part of one eigenvalue."""
        return Component(self, index)

    def imaginary(self, index: int) -> Any:
        """Imaginary part of one eigenvalue."""
        return Component(self, self.order + index)

    def _latex(self, printer: Any) -> str:
        matrix = sympy.Matrix(self.order, self.order, list(self.entries))
        return rf"\operatorname{{spec}} {printer._print(matrix)}"
