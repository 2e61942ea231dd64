"""Files that cannot be read or written, signals, and what a terminal sees."""
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import time
import unittest

import support
from support import Array, PROGRAM


class Broken(support.Case):
    def refuse(self, *words):
        return self.regard("run", *words, "-o", "out.npy", code=2)

    def test_files_that_are_no_arrays(self):
        cases = {"empty.npy": b"", "text.npy": b"hello, world\n" * 10,
                 "cut.npy": Array.normal(1, (4, 4)).npy()[:-5],
                 "lying.safetensors": struct.pack("<Q", 1 << 60) + b"{}"}
        for name, content in cases.items():
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.assertIn(f"regard run: {name}: ", self.refuse(name, name, name))
        self.assertIn("absent.npy: ", self.refuse("absent.npy", "absent.npy", "absent.npy"))
        self.assert_no_leftovers(*cases)


class Writing(support.Case):
    def setUp(self):
        super().setUp()
        support.write_npz(self.path("qkv.npz"), q=Array.normal(1, (64, 64)),
                          k=Array.normal(2, (64, 64)), v=Array.normal(3, (64, 64)))

    def run_limited(self, *words):
        """A run in which no file can grow beyond 4 KiB."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        return subprocess.run([PROGRAM, *words], cwd=self.folder, text=True, capture_output=True,
                              preexec_fn=limit, timeout=60, check=False)

    def test_no_room_leaves_no_file(self):
        for words in [["run", "qkv.npz", "-o", "out.npy"], ["run", "qkv.npz", "-o", "out.npz"],
                      ["lab", "--save", "out.npz"]]:
            done = self.run_limited(*words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("out.np", done.stderr)
            self.assert_no_leftovers("qkv.npz")

    def test_no_room_keeps_the_old_file(self):
        with open(self.path("out.npy"), "w") as file:
            file.write("old")
        self.assertEqual(self.run_limited("run", "qkv.npz", "-o", "out.npy").returncode, 2)
        with open(self.path("out.npy")) as file:
            self.assertEqual(file.read(), "old")

    def test_a_full_disk(self):
        disk = self.path("disk")
        os.mkdir(disk)
        mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk]
        try:
            mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            mounted = False
        if not mounted:
            self.skipTest("a small file system cannot be mounted here")
        try:
            self.assertIn("disk/out.npy: cannot be written: No space left",
                          self.regard("run", "qkv.npz", "-o", "disk/out.npy", code=2))
            self.assertEqual(os.listdir(disk), [])
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_a_folder_that_does_not_exist(self):
        self.assertIn("nowhere/out.npy: ",
                      self.regard("run", "qkv.npz", "-o", "nowhere/out.npy", code=2))

    def test_an_input_may_be_replaced(self):
        for name, seed in [("q", 1), ("k", 2), ("v", 3)]:
            support.write_npy(self.path(name + ".npy"), Array.normal(seed, (64, 64)))
        self.regard("run", "qkv.npz", "-o", "out.npy")
        self.regard("run", "q.npy", "k.npy", "v.npy", "-o", "q.npy")
        self.assertEqual(support.read_npy(self.path("q.npy")).bytes(),
                         support.read_npy(self.path("out.npy")).bytes())


class Signals(support.Case):
    def setUp(self):
        super().setUp()
        # Zeros that take no room on disk: minutes of attention on any machine.
        shape = (16, 32768, 128)
        header = Array((0,), []).npy()
        text = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
        text += b" " * (len(header) - 10 - len(text) - 1) + b"\n"
        with open(self.path("big.npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
            file.truncate(10 + len(text) + 4 * shape[0] * shape[1] * shape[2])

    @staticmethod
    def catches(process, number):
        """The process has got as far as its signal handlers."""
        with open(f"/proc/{process}/status") as status:
            caught = re.search(r"SigCgt:\s*(\w+)", status.read())
        return caught is not None and int(caught.group(1), 16) >> (number - 1) & 1 == 1

    def interrupted(self, number, *words):
        program = subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        while program.poll() is None and not self.catches(program.pid, number):
            time.sleep(0.01)
        time.sleep(0.3)  # on to the work itself
        self.assertIsNone(program.poll(), "it ended before the signal came")
        program.send_signal(number)
        out, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 128 + number, error)
        return out, error

    def test_run_ends_without_a_file(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            words = ["run", "big.npy", "big.npy", "big.npy", "-o", "out.npy", "--return-lse"]
            self.assertEqual(self.interrupted(number, *words), ("", ""))
            self.assert_no_leftovers("big.npy")

    def test_check_and_bench_end_too(self):
        self.interrupted(signal.SIGINT, "check", "big.npy", "big.npy", "big.npy", "--out",
                         "big.npy")
        self.interrupted(signal.SIGTERM, "bench", "--shape", "1x1x64x64", "--repeats", "1000000",
                         "--json", "bench.json")
        self.assert_no_leftovers("big.npy")


class Terminal(support.Case):
    def setUp(self):
        super().setUp()
        support.write_npz(self.path("qkv.npz"), q=Array.normal(1, (64, 64)),
                          k=Array.normal(2, (64, 64)), v=Array.normal(3, (64, 64)))
        self.regard("run", "qkv.npz", "-o", "out.npy")

    def test_no_progress_bar_in_a_pipe(self):
        text = self.regard("check", "qkv.npz", "--out", "out.npy")  # stderr must be empty
        self.assertNotIn("\r", text)
        self.assertNotIn("\033", text)

    def test_a_progress_bar_on_a_terminal(self):
        ours, theirs = pty.openpty()
        try:
            done = subprocess.run([PROGRAM, "check", "qkv.npz", "--out", "out.npy"],
                                  cwd=self.folder, stdout=subprocess.PIPE, stderr=theirs,
                                  text=True, timeout=60, check=False)
            shown = os.read(ours, 10000).decode()
        finally:
            os.close(ours)
            os.close(theirs)
        self.assertEqual(done.returncode, 0)
        self.assertIn("of 64 rows", shown)
        self.assertTrue(shown.endswith("\r\033[K"))
        self.assertNotIn("\r", done.stdout)


if __name__ == "__main__":
    unittest.main()
