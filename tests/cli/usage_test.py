"""Help, exit codes, and the sentence that each mistake gives."""
import os
import stat
import subprocess
import unittest

import support

COMMANDS = ["demo", "lab", "run", "check", "bench", "info"]


class Help(support.Case):
    def test_alone_it_teaches(self):
        text = self.regard()
        for command in COMMANDS:
            self.assertIn(f"regard {command}", text)
        self.assertIn("Exit codes: 0 fine, 1 a check failed, 2 bad usage", text)
        self.assertEqual(text, self.regard("--help"))

    def test_every_command_explains_itself(self):
        for command in COMMANDS:
            text = self.regard(command, "--help")
            self.assertIn(f"usage: regard {command}", text)
            self.assertEqual(text, self.regard("help", command))
            self.assertLess(max(map(len, text.splitlines())), 101)

    def test_flags_have_the_names_of_the_conventions(self):
        text = self.regard("run", "--help")
        for name in ["scale", "softcap", "bias", "alibi-slopes", "sinks", "mask", "causal",
                     "q-offset", "window", "q-len", "kv-len", "precision", "path", "threads",
                     "layout", "out", "out-dtype", "return-lse", "return-weights", "rows", "stats",
                     "explain", "names", "weights-stage", "top"]:
            self.assertIn(f"--{name} ", text)

    def test_version(self):
        self.assertRegex(self.regard("--version"), r"^regard \d+\.\d+\.\d+\n$")


class Mistakes(support.Case):
    def sentence(self, *words):
        return self.regard(*words, code=2)

    def test_a_mistyped_command(self):
        self.assertIn("'chekc' is not a command; did you mean check?", self.sentence("chekc"))
        self.assertIn("'xyzzy' is not a command", self.sentence("xyzzy"))

    def test_a_mistyped_flag(self):
        self.assertIn("'--cuasal' is not a flag; did you mean --causal?",
                      self.sentence("run", "--cuasal", "top_left", "q.npy", "k.npy", "v.npy"))
        self.assertIn("'--blokced' is not a flag; did you mean --blocked?",
                      self.sentence("lab", "--blokced"))
        self.assertIn("'--sede' is not a flag; did you mean --seed?",
                      self.sentence("lab", "--sede=3"))

    def test_a_bare_causal_names_the_choices(self):
        for words in [["--causal"], ["--causal", "--explain"], ["--causal", "q.npy"]]:
            text = self.sentence("run", "qkv.npz", *words)
            for choice in ["--causal", "none", "top_left", "bottom_right"]:
                self.assertIn(choice, text)

    def test_a_near_choice(self):
        self.assertIn("--causal: 'top-left' is not one of none, top_left, bottom_right; did you "
                      "mean top_left?", self.sentence("run", "x.npz", "--causal", "top-left"))

    def test_values_that_mean_nothing(self):
        for words, said in [
                (["run", "x", "--scale", "one"], "--scale: 'one' is not a number"),
                (["run", "x", "--scale", ""], "--scale: '' is not a number"),
                (["run", "x", "--rows", "1,b"], "--rows: 'b' is not a whole number"),
                (["run", "x", "--threads", "2.5"], "--threads: '2.5' is not a whole number"),
                (["run", "x", "--explain", "--threads", "99999999999"], "--threads: 99999999999"),
                (["run", "x", "--window", "3"], "--window: '3' is not two numbers"),
                (["run", "x", "--softcap", "much"], "--softcap: 'much' is not a number"),
                (["run", "x", "--kv-len", "3,"], "--kv-len: '' is not a whole number"),
                (["run", "x", "--weights-stage", "cap"], "--weights-stage: 'cap' is not one of "
                 "softmax, scaled, capped, biased"),
                (["run", "x", "--out-dtype", "float16"], "--out-dtype: 'float16' is not one of "
                 "f32, f64, f16, bf16"),
                (["run", "x", "--mask", "", "--explain"], "--mask: its value is empty"),
                (["run", "x", "--names", "w=x", "--explain"], "--names: 'w=x'"),
                (["lab", "--seed"], "--seed: its value is missing"),
                (["lab", "--tokens", "0"], "--tokens: 0 is not in [1, 4096]"),
                (["lab", "--d-head", "5000"], "--d-head: 5000 is not in [1, 4096]"),
                (["lab", "--block", "3"], "--block: it belongs to the blocked lab"),
                (["lab", "--blocked", "--block", "0"], "block: 0 is below 1"),
                (["lab", "--blocked", "--tokens", "3"], "--tokens: it belongs to the causal lab"),
                (["lab", "--save", "x.npy"], "--save: 'x.npy' does not end in .npz"),
                (["lab", "surplus"], "'surplus' is one word too many"),
                (["check", "x.npz"], "--out: missing"),
                (["run"], "nothing to do"),
                (["run", "--explain"], "no input files"),
                (["run", "x.npz", "-o", "y.safetensors"], "-o: 'y.safetensors'"),
                (["run", "x.npz", "-o", "y.npy", "--rows", "1"], "--rows: it picks rows")]:
            self.assertIn(said, self.sentence(*words))

    def test_the_last_of_a_repeated_flag_counts(self):
        self.assertIn("seed 5", self.regard("lab", "--seed", "4", "--seed", "5"))

    def test_an_instruction_set_that_does_not_exist(self):
        for command in ["info", "lab", "bench"]:
            self.assertIn("REGARD_ISA", self.regard(command, code=2, env={"REGARD_ISA": "sse1"}))

    def test_output_that_cannot_be_written(self):
        if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
            self.skipTest("/dev/full is no device here")
        with open("/dev/full", "w") as full:
            done = subprocess.run([support.PROGRAM, "lab"], stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output cannot be written", done.stderr)


if __name__ == "__main__":
    unittest.main()
