"""What a query must not do, judged in a process with limited memory and time."""

import contextlib
import importlib
import json
import math
import multiprocessing
import re
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import theorem_engine

#: Memory a query may ask for beyond what the process had before the first one.
MEMORY = 2 * 2**30
#: Seconds of the processor for the first query of a statement, which writes its equations and compiles them: stopped
#: on the way, the next one would begin anew, and none would be judged.
FIRST = 12.0
_ROOT = Path(theorem_engine.__file__).resolve().parents[1]
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)
#: Errors of programs, not of numbers, in the text of one of ours.
_MISTAKE = re.compile(
    r"failed \(((?:Attribute|Import|Index|Key|Name|Type|Assertion|ModuleNotFound|UnboundLocal)Error)\b"
)


class TimeIsUp(BaseException):
    """Not an Exception, so that no handler of the engine takes it for its own."""

    def __init__(self, frame):
        """Whether it came inside an import: its own traceback would not say, frames of imports are taken out."""
        self.is_torn = False
        while frame is not None:
            self.is_torn |= "importlib" in frame.f_code.co_filename
            frame = frame.f_back


@dataclass
class Report:
    """What became of a query: answered, refused with a documented error, slow, or failed."""

    call: str
    entry: str
    moved: tuple[str, ...]
    status: str = "answered"
    #: Failures found: (cause, detail); the cause groups failures of one kind.
    failures: list[tuple[str, str]] = field(default_factory=list)
    #: Time of the processor.
    seconds: float = 0.0
    #: The error met, if any.
    said: str = ""
    #: Whether it was stopped in the middle of an import, which leaves a process that cannot be trusted.
    is_torn: bool = False

    def fail(self, cause, detail, stage=""):
        """Note a failure; text and JSON that stumble over the same thing again are not counted again."""
        if all(cause != known for known, _ in self.failures):
            self.failures.append((cause, f"[{stage}] {detail}" if stage else detail))


def judge(query, seconds):
    """Evaluate a query, show its answer in every form, and list what is wrong with it."""
    report = Report(str(query), query.entry, query.moved)
    begin = time.process_time()
    try:
        with _deadline(seconds), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _evaluate(query, report)
            _judge_warnings(caught, report)
    except TimeIsUp as stopped:
        report.status = "slow"
        report.is_torn = stopped.is_torn
    report.seconds = time.process_time() - begin
    if report.failures:
        report.status = "failed"
    return report


@contextmanager
def _deadline(seconds):
    """Raise TimeIsUp in the code inside once it has had its seconds, and never after it has ended."""
    is_over = False

    def stop(_, frame):
        if not is_over:
            raise TimeIsUp(frame)

    # the processor's time, not the clock's: what else the machine does is no fault of the query
    signal.signal(signal.SIGPROF, stop)
    # again every second, since code called from C may swallow what is raised in it
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        try:
            yield
        finally:
            is_over = True
    finally:
        # reached also when the signal came on the way to the line above
        is_over = True
        signal.setitimer(signal.ITIMER_PROF, 0)


def _evaluate(query, report):
    import theorem_engine as te

    try:
        parameters = query.values()
    except Exception as error:
        # an object that refuses to be made names no entry, but its error is a documented one
        _judge_error(error, report, "making a value", query)
        return
    try:
        prediction = te.predict(query.entry, **parameters)
    except Exception as error:
        _judge_error(error, report, "value", query)
        return
    for stage, look in LOOKS.items():
        try:
            look(prediction, report)
        except Exception as error:
            _judge_error(error, report, stage, query)


def _judge_error(error, report, stage, query):
    """Only documented errors, which say where they happened."""
    import theorem_engine as te
    from theorem_engine.base import errors

    report.said = f"{type(error).__name__}: {error}"
    if stage == "value":
        report.status = "refused"
    if any(isinstance(cause, MemoryError) for cause in _chain(error)):
        report.fail(f"more than 2 GB asked for, {_place(error)}", report.said, stage)
    elif not isinstance(error, errors.TheoremEngineError) or isinstance(error, errors.DeclarationError):
        report.fail(f"{type(error).__name__} in {_place(error)}", report.said, stage)
    elif mistake := _MISTAKE.search(str(error)):
        # the guard turns any error into ours, but these are no matter of numbers
        report.fail(f"{mistake[1]} behind a guard, {_place(error)}", report.said, stage)
    elif stage == "making a value" or _is_about_digits(error):
        return
    elif query.entry not in str(error):
        report.fail(f"{type(error).__name__} names no entry, {_place(error)}", report.said, stage)
    elif isinstance(error, errors.BadNumber | errors.OutOfDomain | errors.UnknownParameter | errors.MissingParameter):
        names = [x.name for x in te.entry(query.entry).given] + list(query.moved)
        if not any(re.search(rf"(?<!\w){name}(?!\w)", str(error)) for name in names):
            report.fail(f"{type(error).__name__} names no letter, {_place(error)}", report.said, stage)


def _is_about_digits(error):
    return type(error).__name__ == "BadRequest" and "digits" in str(error)


def _chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _place(error):
    """The innermost line of the project that the error passed through."""
    place = "code outside the project"
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and not path.is_relative_to(_ROOT / "tests") and ".venv" not in path.parts:
            place = f"{path.relative_to(_ROOT)} ({frame.name})"
    return place


def _judge_outputs(prediction, report):
    """No NaN, and nothing outside the range the entry declares; without a range everything is finite."""
    from theorem_engine.language.domains import Interval

    for name, value in prediction.outputs.items():
        declared = prediction.entry.outputs[name].range
        for number in numbers(value):
            shown = f"{name} = {number}"
            if number != number:
                report.fail(f"outputs: {name} is NaN", shown)
            elif isinstance(declared, Interval) and not within(number, declared):
                report.fail(f"outputs: {name} outside {declared.describe()}", shown)
            elif declared is None and abs(number) == math.inf:
                report.fail(f"outputs: {name} is infinite, which its entry does not declare", shown)


def within(number, interval):
    """Whether a real number lies in an interval, its brackets read as they are shown."""
    text = interval.describe().partition(",")
    above = number > interval.low if text[0].startswith("(") else number >= interval.low
    closing = text[2].strip().partition(", or")[0]
    below = number < interval.high if closing.endswith(")") else number <= interval.high
    return above and below


def numbers(value):
    """All real numbers in an output, whatever its shape; a complex one is its two parts."""
    if isinstance(value, bool | str | type(None)):
        return
    if isinstance(value, Mapping):
        value = list(value.values())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, complex) or hasattr(value, "_mpc_"):
        yield value.real
        yield value.imag
    elif isinstance(value, int | float) or hasattr(value, "_mpf_"):
        yield value


def _judge_accuracy(prediction, report):
    for number in numbers(prediction.error):
        if number != number or number < 0:
            report.fail(f"error: {'NaN' if number != number else 'negative'}", f"error = {number}")
    if prediction.error is None:
        report.fail("error: None", "error = None")


def _judge_text(form, text, report):
    if _NAN.search(text):
        report.fail(f"{form}: shows a NaN", text[:300])


#: What is asked of an answer: its numbers, its error, and every form it can be shown in.
LOOKS = {
    "outputs": _judge_outputs,
    "error": _judge_accuracy,
    "text": lambda prediction, report: _judge_text("text", str(prediction), report),
    "HTML": lambda prediction, report: _judge_text("HTML", prediction._repr_html_(), report),
    "JSON": lambda prediction, report: _judge_text("JSON", _as_json(prediction), report),
}


def _as_json(prediction):
    return json.dumps(prediction.to_json(), allow_nan=False)


def _judge_warnings(caught, report):
    """Warnings are for validity, and carry the entry's id."""
    from theorem_engine.base.errors import ValidityWarning

    for warning in caught:
        place = f"{Path(warning.filename).name}:{warning.lineno}"
        if not issubclass(warning.category, ValidityWarning):
            cause = f"warning: {warning.category.__name__} at {place}"
            report.fail(cause, str(warning.message))
        elif report.entry not in str(warning.message):
            report.fail(f"warning: ValidityWarning names no entry, {place}", str(warning.message))


class Worker:
    """A process that judges queries one by one; one that hangs or dies is replaced, and its query has failed."""

    def __init__(self, seconds=10.0, lifetime=1500):
        self.seconds = seconds
        self.lifetime = lifetime
        self._start()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._served = 0

    def judge(self, query, seconds=None):
        """The report of one query; it may take ``seconds`` of the processor."""
        seconds = self.seconds if seconds is None else seconds
        if self._served >= self.lifetime:
            self._restart()
        self._served += 1
        try:
            self._pipe.send((query, seconds))
            if self._pipe.poll(20 * seconds + 120):
                report, peak = self._pipe.recv()
                if report.is_torn:
                    self._restart()
                elif peak > MEMORY:
                    report.fail("memory: more than 2 GB used", f"{peak / 2**30:.1f} GB")
                    report.status = "failed"
                    self._restart()
                return report
            cause = "time: does not stop when asked to"
        except (EOFError, ConnectionError):
            self._process.join(10)
            cause = f"process: ended with code {self._process.exitcode}"
        self._restart()
        return Report(str(query), query.entry, query.moved, "failed", [(cause, "")])

    def _restart(self):
        self.close()
        self._start()

    def close(self):
        """End the process."""
        self._pipe.close()
        self._process.terminate()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe):
    """The loop of the worker: take a query, give its report and the memory taken since the start."""
    import theorem_engine as te

    te.entries()
    _import_libraries()
    compiled = set()
    baseline = _resident_peak()
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, resource.RLIM_INFINITY))
    while True:
        try:
            query, seconds = pipe.recv()
        except (EOFError, ConnectionError):
            return
        statement = query.entry, *_options(query)
        report = judge(query, seconds if statement in compiled else max(seconds, FIRST))
        if report.status != "refused":
            compiled.add(statement)
        try:
            pipe.send((report, _resident_peak() - baseline))
        except ConnectionError:
            return


def _options(query):
    """The letters of a query that decide which equations it has."""
    import theorem_engine as te

    names = {x.name for x in te.entry(query.entry).given if x.domain.is_option}
    return sorted((name, source) for name, source in query.parameters if name in names)


def _import_libraries():
    """What is imported when it is first needed, so that no query pays for it, or is stopped inside it."""
    for name in ("flint", "mpmath", "numba", "scipy.integrate", "scipy.linalg", "scipy.optimize", "scipy.stats"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _resident_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _address_space():
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 2**20
    return pages * resource.getpagesize()
