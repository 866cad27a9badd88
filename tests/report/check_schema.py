"""TAP: documents fit a schema, changed ones do not.

check_schema.py SCHEMA FILE...    the first file is the one that gets changed
"""
import copy
import json
import sys

import jsonschema

CHANGES = {
    "an unknown key": lambda d: d.update(extra=1),
    "a missing key": lambda d: d.pop("quality"),
    "another schema_version": lambda d: d.update(schema_version=2),
    "an unknown word": lambda d: d["verdict"].update(word="FINE"),
    "an unknown reporter": lambda d: d["generator"].update(reporter="me"),
    "a coverage over 1": lambda d: d["quality"].update(coverage=1.5),
    "a negative count": lambda d: d["comms"][0].update(ops=-1),
    "a count as text": lambda d: d["cells"][0].update(ops="12"),
    "a key too many in a row": lambda d: d["ranks"][0].update(x=1),
    "a type unknown": lambda d: d["comms"][0].update(comm_type="fast"),
    "a finding without text": lambda d: d["findings"].append({"kind": "hang"}),
}


def load(path):
    def refuse(name):
        raise ValueError(f"{path}: {name} is no JSON number")
    with open(path, encoding="utf-8") as f:
        return json.load(f, parse_constant=refuse)


def main():
    schema, files, n = load(sys.argv[1]), sys.argv[2:], 0
    cls = jsonschema.validators.validator_for(schema)
    cls.check_schema(schema)
    validator = cls(schema)

    def report(good, what):
        nonlocal n
        n += 1
        print(f"{'ok' if good else 'not ok'} {n} - {what}")

    for path in files:
        errors = list(validator.iter_errors(load(path)))
        for error in errors[:5]:
            print(f"# {'/'.join(map(str, error.path))}: {error.message[:200]}")
        report(not errors, "/".join(path.split("/")[-2:]))
    for name, change in CHANGES.items():
        changed = copy.deepcopy(load(files[0]))
        change(changed)
        report(not validator.is_valid(changed), name + " is refused")
    print(f"1..{n}")


main()
