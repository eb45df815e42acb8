"""Exponential and error functions without branches, so that a compiler puts many of them into one vector register.

Plain arithmetic alone: numba compiles this text together with the loops that use it. Each polynomial is the Chebyshev
series of its function, cut where the rest is below 2e-16 of the value and written in powers. What is stated of errors
is tested against mpmath: exp within 2, erf and erfc within 8 units of the last place; results below 3.4e-308 are zero,
and the exponential is infinite from 709.4 on.
"""

from typing import Any

import numba
import numpy as np


@numba.njit(forceinline=True, fastmath={"contract"})
def lane_exp(x: Any) -> Any:
    """e^x = 2^n e^r with |r| <= log(2)/2; a number that is not one stays so."""
    y = -708.0 if x < -708.0 else x
    y = 710.0 if y > 710.0 else y
    # the sum has the nearest whole number in its last bits
    t = y * 1.4426950408889634 + 6755399441055744.0
    n = t - 6755399441055744.0
    r = (y - n * 0.6931471803691238) - n * 1.9082149292705877e-10
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5000000000000019 + r * 0.16666666666666702)
    middle = (0.04166666666648665 + r * 0.008333333333309335) + r2 * (0.0013888888952699812 + r * 0.000198412699096288)
    high = (2.4801485070974322e-05 + r * 2.7557224578181578e-06) + r2 * (
        2.7632791582662336e-07 + r * 2.5114995951301997e-08
    )
    power = np.int64((np.float64(t).view(np.int64) + np.int64(1023)) << np.int64(52)).view(np.float64)
    return 0.0 if x < -708.0 else (low + r4 * (middle + r4 * high)) * power


@numba.njit(forceinline=True, fastmath={"contract"})
def _scaled(a: Any) -> Any:
    """e^(a^2) erfc(a) for a >= 0: a polynomial in (a - k)/(a + k) over a + k, k = 2.75."""
    over = 1.0 / (a + 2.75)
    t = (a - 2.75) * over
    t2 = t * t
    t4 = t2 * t2
    t8 = t4 * t4
    c0 = (1.0651415295348776 + t * -0.8477970066743267) + t2 * (0.5266003653823194 + t * -0.24195642616687235)
    c1 = (0.07062949079692683 + t * -0.004626926118054199) + t2 * (-0.005681968676674871 + t * 0.001714817917503868)
    c2 = (0.00044968735180264533 + t * -0.00027734697386113094) + t2 * (
        -5.2573251831373374e-05 + t * 4.367079333260509e-05
    )
    c3 = (1.0359277792476253e-05 + t * -6.848633221285237e-06) + t2 * (
        -2.6516136718328383e-06 + t * 9.290650802799303e-07
    )
    c4 = (6.827991019852002e-07 + t * -5.908361976699513e-08) + t2 * (
        -1.5320308286767425e-07 + t * -1.8887695212172577e-08
    )
    c5 = (2.571832504291394e-08 + t * 7.535891990025055e-09) + t2 * (
        -2.3420070125356767e-09 + t * -1.000279995580465e-09
    )
    return ((c0 + t4 * c1) + t8 * ((c2 + t4 * c3) + t8 * (c4 + t4 * c5))) * over


@numba.njit(forceinline=True, fastmath={"contract"})
def _upper(a: Any) -> Any:
    """erfc(a) for a >= 0; the square is taken in two parts, since its rounding would be multiplied by itself."""
    b = 30.0 if a > 30.0 else a
    head = np.int64(np.float64(b).view(np.int64) & np.int64(-134217728)).view(np.float64)
    rest = (b - head) * (b + head)
    return lane_exp(-head * head) * (1.0 - rest * (1.0 - rest * (0.5 - rest / 6.0))) * _scaled(b)


@numba.njit(forceinline=True, fastmath={"contract"})
def _lower(x: Any) -> Any:
    """erf(x) for |x| <= 1/2: x times a polynomial in its square."""
    y = x * x
    y2 = y * y
    y4 = y2 * y2
    low = (1.1283791670955126 + y * -0.37612638903183476) + y2 * (0.11283791670925457 + y * -0.026866170632921085)
    high = (0.005223977373542183 + y * -0.0008548297798086192) + y2 * (
        0.00012053337222877719 + y * -1.4845900896375835e-05
    )
    return x * (low + y4 * (high + y4 * 1.4726381680017032e-06))


@numba.njit(forceinline=True, fastmath={"contract"})
def lane_erf(x: Any) -> Any:
    """The error function."""
    upper = 1.0 - _upper(abs(x))
    return _lower(x) if abs(x) < 0.5 else (-upper if x < 0.0 else upper)


@numba.njit(forceinline=True, fastmath={"contract"})
def lane_erfc(x: Any) -> Any:
    """One minus the error function, with all its digits far up."""
    upper = _upper(abs(x))
    return 1.0 - _lower(x) if abs(x) < 0.5 else (2.0 - upper if x < 0.0 else upper)


@numba.njit(forceinline=True)
def _mixed(x: Any, y: Any, turn: Any) -> Any:
    """One round of Threefry."""
    x = x + y
    return x, ((y << np.uint64(turn)) | (y >> np.uint64(64 - turn))) ^ x


@numba.njit(forceinline=True)
def _four_rounds(x: Any, y: Any, turns: Any) -> Any:
    """Between two of its keys."""
    x, y = _mixed(x, y, turns[0])
    x, y = _mixed(x, y, turns[1])
    x, y = _mixed(x, y, turns[2])
    return _mixed(x, y, turns[3])


@numba.njit(forceinline=True)
def lane_random(key0: Any, key1: Any, first: Any, second: Any) -> Any:
    """Two random words at a counter of two words: Threefry-2x64 with twenty rounds, in ``normal_draws`` too."""
    key2 = np.uint64(0x1BD11BDAA9FC1A22) ^ key0 ^ key1
    x, y = np.uint64(first) + key0, np.uint64(second) + key1
    x, y = _four_rounds(x, y, (16, 42, 12, 31))
    x, y = _four_rounds(x + key1, y + (key2 + np.uint64(1)), (16, 32, 24, 21))
    x, y = _four_rounds(x + key2, y + (key0 + np.uint64(2)), (16, 42, 12, 31))
    x, y = _four_rounds(x + key0, y + (key1 + np.uint64(3)), (16, 32, 24, 21))
    x, y = _four_rounds(x + key1, y + (key2 + np.uint64(4)), (16, 42, 12, 31))
    return x + key2, y + (key0 + np.uint64(5))


@numba.njit(forceinline=True, fastmath={"contract"})
def _log(x: Any) -> Any:
    """log(x) for normal numbers: 2^n m, m between the roots of 1/2 and 2, and a series in (m - 1)/(m + 1)."""
    bits = np.float64(x).view(np.int64)
    # how often two goes into x, the step between roots of 1/2 and 2
    shifted = bits - np.int64(0x3FE6A09E667F3BCD)
    n = shifted >> np.int64(52)
    m = np.int64(bits - (n << np.int64(52))).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0))
    high = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0))
    top = (2.0 / 19.0 + z * (2.0 / 21.0)) * z4
    # the exponent as a number without a conversion: its low bits beside those of 3 * 2^51
    power = np.int64(n + np.int64(0x4338000000000000)).view(np.float64) - 6755399441055744.0
    return power * 0.6931471805599453 + (2.0 * s + s * z * (low + z4 * (high + top)))


@numba.njit(forceinline=True, fastmath={"contract"})
def lane_normals(key0: Any, key1: Any, first: Any, second: Any) -> Any:
    """Two standard normals at a place, as ``normal_draws`` has them."""
    x, y = lane_random(key0, key1, first, second)
    one = np.int64((x >> np.uint64(12)) | np.uint64(0x3FF0000000000000)).view(np.float64)
    other = np.int64((y >> np.uint64(12)) | np.uint64(0x3FF0000000000000)).view(np.float64)
    radius = np.sqrt(-2.0 * _log(2.0 - one))
    w = other - 1.0
    # the nearest quarter of a turn in the last bits
    t = 4.0 * w + 6755399441055744.0
    quarter = np.float64(t).view(np.int64)
    a = (w - 0.25 * (t - 6755399441055744.0)) * 6.283185307179586
    z = a * a
    z2 = z * z
    z4 = z2 * z2
    sine = (-1.0 / 6.0 + z / 120.0) + z2 * (-1.0 / 5040.0 + z / 362880.0)
    sine += z4 * ((-1.0 / 39916800.0 + z / 6227020800.0) + z2 * (-1.0 / 1307674368000.0))
    sine = a + a * z * sine
    cosine = (-0.5 + z / 24.0) + z2 * (-1.0 / 720.0 + z / 40320.0)
    cosine += z4 * ((-1.0 / 3628800.0 + z / 479001600.0) + z2 * (-1.0 / 87178291200.0 + z / 20922789888000.0))
    cosine = 1.0 + z * cosine
    is_odd = (quarter & np.int64(1)) != 0
    along, across = (sine, cosine) if is_odd else (cosine, sine)
    along = -along if ((quarter + np.int64(1)) & np.int64(2)) != 0 else along
    across = -across if (quarter & np.int64(2)) != 0 else across
    return radius * along, radius * across
