"""The progress bar of solve(progress=True): tqdm's where it is installed, else a line of our own."""
import contextlib
import math
import sys
import time


class _OwnBar:
    """One line on stderr, rewritten five times a second at most."""

    def __init__(self, stream):
        self._stream = stream
        self._last = 0.0

    def show(self, share, text):
        now = time.monotonic()
        if now - self._last < 0.2:
            return
        self._last = now
        filled = round(30 * share)
        self._stream.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {text}\x1b[K")
        self._stream.flush()

    def close(self):
        if self._last:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


class _TqdmBar:
    def __init__(self, tqdm):
        self._bar = tqdm(total=100, bar_format="{l_bar}{bar}| {postfix}", file=sys.stderr, leave=False)

    def show(self, share, text):
        self._bar.n = round(100 * share)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(0)

    def close(self):
        self._bar.close()


def _new_bar():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _OwnBar(sys.stderr)
    return _TqdmBar(tqdm)


class _Follower:
    def __init__(self, bar, callback):
        self._bar = bar
        self._callback = callback
        self._first = None

    def __call__(self, progress):
        error = max(progress.error_a, progress.error_b)
        if error > 0 and math.isfinite(error):
            self._first = self._first or error
            self._bar.show(self._share(error, progress.tolerance), f"iteration {progress.iteration}, error {error:.2e}")
        return self._callback(progress) if self._callback is not None else None

    def _share(self, error, tolerance):
        """Of the way from the first error to the tolerance, in logarithms."""
        way = math.log(self._first / tolerance) if tolerance > 0 else 0
        done = math.log(self._first / error)
        return min(1.0, max(0.0, done / way)) if way > 0 else 0.0


@contextlib.contextmanager
def bar_for(progress, callback):
    """What to call after each check of the error: the callback, a bar, both or None."""
    if not progress or sys.stderr is None or getattr(sys.stderr, "closed", False):  # programs without a terminal
        yield callback
        return
    bar = _new_bar()
    try:
        yield _Follower(bar, callback)
    finally:
        bar.close()
