#!/usr/bin/env python3
"""Reads a JUnit file of ctest or pytest, then prints `passed failed skipped` on the last line. Of
ctest, whose tests are named `name.isa`, it says which ISAs ran and which this CPU lacks."""
import sys
import xml.etree.ElementTree as xml


def is_ctest(case):
    return case.get("status") is not None


def outcome(case):
    if not is_ctest(case):
        kinds = {child.tag for child in case}
        return ("failed" if kinds & {"failure", "error"} else
                "skipped" if "skipped" in kinds else "passed")
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped" if "SKIP_RETURN_CODE" in skip_reason(case) else "failed"
    return "passed" if case.get("status") == "run" else "failed"


def skip_reason(case):
    skipped = case.find("skipped")
    return "" if skipped is None else skipped.get("message", "")


def main():
    cases = list(xml.parse(sys.argv[1]).getroot().iter("testcase"))
    isas = {}
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        result = outcome(case)
        counts[result] += 1
        name, _, isa = case.get("name").partition(".")
        if isa and is_ctest(case):
            isas.setdefault(isa, set()).add(result)
        if result == "failed":
            print(f"FAILED: {case.get('name')}")
    for isa, results in isas.items():
        lacking = results == {"skipped"}
        print(f"ISA {isa}: " + ("skipped, this CPU lacks it" if lacking else "ran"))
    print(counts["passed"], counts["failed"], counts["skipped"])


main()
