"""TAP: plans fit their schema, changed ones do not; figures agree.

check_schema.py SCHEMA FILE...    the last file is the one that gets changed,
                                  and is one of --from
"""
import copy
import json
import sys

import jsonschema

CHANGES = {
    "an unknown key": lambda d: d.update(extra=1),
    "a missing key": lambda d: d.pop("forecast"),
    "another schema_version": lambda d: d.update(schema_version=2),
    "an unknown profiler": lambda d: d["mode"].update(runs="other"),
    "an unknown source": lambda d: d["settings"][0].update(source="me"),
    "a number as text": lambda d: d["forecast"]["rank"].update(disk_bytes="1"),
    "a negative count": lambda d: d["measured"].update(records=-1),
    "a warning that is no text": lambda d: d["warnings"].append(1),
    "a shape without nodes": lambda d: d["shape"].pop("nodes"),
}


def load(path):
    def refuse(name):
        raise ValueError(f"{path}: {name} is no JSON number")
    with open(path, encoding="utf-8") as f:
        return json.load(f, parse_constant=refuse)


def wrong_sums(plan):
    rank, shape = plan["forecast"]["rank"], plan["shape"]
    pairs = [("node", "memory_bytes", shape["ranks_per_node"]),
             ("node", "reserved_bytes", shape["ranks_per_node"]),
             ("step", "disk_bytes", shape["ranks"])]
    for part, key, times in pairs:
        of_rank, total = rank[key], plan["forecast"][part][key]
        want = of_rank * times if of_rank and times else None
        if total != want:
            yield f"{part}.{key} is {total}, not {want}"
    if (rank["kept_ops"] or 0) > (rank["planned_ops"] or 0):
        yield "more kept than planned"


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
        plan = load(path)
        errors = list(validator.iter_errors(plan))
        for error in errors[:5]:
            print(f"# {'/'.join(map(str, error.path))}: {error.message[:200]}")
        wrong = list(wrong_sums(plan)) if not errors else []
        for line in wrong:
            print(f"# {line}")
        report(not errors and not wrong, path.split("/")[-1])
    for name, change in CHANGES.items():
        changed = copy.deepcopy(load(files[-1]))
        change(changed)
        report(not validator.is_valid(changed), name + " is refused")
    print(f"1..{n}")


main()
