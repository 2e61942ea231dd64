"""Threads, the GIL and ctrl-C."""
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import regard

Q = np.random.default_rng(1).standard_normal((1, 4, 512, 64)).astype(np.float32)

LONG = """
import signal, numpy as np, regard
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
q = np.ones((1, 8, 40000, 64), np.float32)
print("ready", flush=True)
try:
    regard.attention(q, q, q)
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_stops_a_long_call() -> None:
    """The call takes 3.3 Tflop, ten seconds and more on a few cores."""
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout and run.stdout.readline() == "ready\n"
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert run.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 5
    assert run.returncode == 0


HANDLER = """
import signal, numpy as np, regard
q = np.ones((1, 8, 3000, 64), np.float32)
small = np.ones((1, 8, 300, 64), np.float32)
calls = []
def handle(*_):
    calls.append(regard.attention(small, small, small))
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
for _ in range(5):
    out = regard.attention(q, q, q)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(calls) > 0 and bool(np.all(abs(out - 1) < 1e-5)))
"""


def test_a_signal_handler_may_call_too() -> None:
    run = subprocess.run([sys.executable, "-c", HANDLER], capture_output=True, text=True,
                         check=True, timeout=100)
    assert run.stdout == "True\n"


END = """
import threading, time, numpy as np, regard
q = np.ones((2, 64, 16), np.float32)
long = np.ones((2, 20000, 16), np.float32)
cache = regard.KVCache(kv_heads=2, k_head_size=16, pages=8)
sequence = cache.add()
cache.append(sequence, q, q)
calls = [lambda: regard.attention(q, q, q), lambda: regard.attention(long, long, long),
         lambda: regard.decode(q[:, :1], cache, sequence), lambda: cache.gather(sequence)]
def work(call):
    while True:
        call()
for call in calls:
    threading.Thread(target=work, args=(call,), daemon=True).start()
time.sleep(0.2)
"""


def test_the_interpreter_may_end_during_calls_of_daemon_threads() -> None:
    run = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, timeout=100)
    assert (run.returncode, run.stderr) == (0, "")


CACHE_HANDLER = """
import signal, numpy as np, regard
rows = np.ones((4, 20000, 64), np.float32)
cache = regard.KVCache(kv_heads=4, k_head_size=64, pages=400)
sequence = cache.add()
cache.append(sequence, rows, rows)
lengths = []
def handle(*_):
    lengths.append(cache.length(sequence))
    cache.trim(sequence, 5)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    while True:
        regard.decode(rows[:, :4000], cache, sequence)
except RuntimeError as error:
    print(lengths, error)
"""


def test_a_signal_handler_may_read_the_cache_of_the_call_it_interrupts() -> None:
    run = subprocess.run([sys.executable, "-c", CACHE_HANDLER], capture_output=True, text=True,
                         timeout=100)
    assert run.stdout.startswith("[20000] cache: this thread is reading it"), run.stderr


def test_several_threads_get_the_same_bits() -> None:
    expected = regard.attention(Q, Q, Q, causal=True)
    results: list[np.ndarray] = []

    def work() -> None:
        for _ in range(5):
            results.append(regard.attention(Q, Q, Q, causal=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(np.array_equal(result, expected) for result in results)


def test_other_threads_run_during_a_call() -> None:
    long = np.ones((1, 4, 3000, 64), np.float32)
    done = threading.Event()
    steps = 0

    def work() -> None:
        regard.attention(long, long, long)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        steps += 1
    thread.join()
    assert steps > 3


@pytest.mark.parametrize("threads", [1, 2, 100, None])
def test_threads_do_not_change_bits(threads: int | None) -> None:
    np.testing.assert_array_equal(regard.attention(Q, Q, Q, threads=threads),
                                  regard.attention(Q, Q, Q))
