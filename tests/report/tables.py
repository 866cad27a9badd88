"""The report's tables in the documentation.

tables.py check|write TABLES DOCS    TABLES: print_tables' output; DOCS: docs/

Each table stands in dev/report-format.md between <!-- table NAME --> and
<!-- end -->, and as the rows of an array of summary.schema.json. A new table
gets a place in both, where it can be moved and described further by hand.
"""
import json
import re
import sys

UNITS = {"bytes": "bytes", "us": "us", "clock": "us since 1970",
         "gbs": "GB/s", "share": "0 to 1"}
WIDTH = 100
BEHIND_TABLES = "## report.html\n"  # of the page


def json_columns(table):
    """In the order of JSON; those of one place in that of rows."""
    return sorted((c for c in table["columns"] if c["json"]),
                  key=lambda c: c["json"])


def markdown_kinds(table):
    lines = ["| kind | what | verdict | question |", "|---|---|---|---|"]
    for k in table["kinds"]:
        verdict = "" if k["verdict"] == "OK" else k["verdict"]
        lines.append(f"| {k['word']} | {k['help']} | {verdict} "
                     f"| {k['question']} |")
    return "\n".join(re.sub(" +", " ", line) for line in lines)


def column_name(c, both):
    """In CSV and in JSON; one name if it is the same in both."""
    if not c["csv"]:
        return c["path"] + (" (JSON)" if both else "")
    if not c["json"]:
        return c["key"] + (" (CSV)" if both else "")
    if c["key"] == c["path"]:
        return c["key"]
    return f"{c['key']} (JSON: {c['path']})"


def markdown(table):
    if "kinds" in table:
        return markdown_kinds(table)
    lines = ["| column | unit | what |", "|---|---|---|"]
    rows = [c for c in table["columns"] if c["csv"]]
    if not table["csv"]:
        lines[0] = "| JSON | unit | what |"
    rows += [c for c in json_columns(table) if not c["csv"]]
    both = table["csv"] and any(c["json"] for c in rows)
    for c in rows:
        what = c["help"].replace("|", "\\|")
        if c["words"]:
            words = ", ".join(f"`{w}`" for w in c["words"])
            what += f": {words}" if ": " not in what else f" ({words})"
        lines.append(f"| {column_name(c, both)} "
                     f"| {UNITS.get(c['kind'], '')} | {what} |")
    return "\n".join(re.sub(" +", " ", line) for line in lines)


def schema_type(c):
    maybe = "_or_null" if c["maybe"] else ""
    if c["kind"] == "word" and c["words"]:
        return {"enum": c["words"] + ([None] if c["maybe"] else [])}
    if c["kind"] == "list":
        return {"type": "array", "maxItems": c["max"],
                "items": {"$ref": "#/$defs/text"}}
    if c["kind"] == "hist":
        return {"type": "array", "maxItems": c["max"],
                "items": {"type": "array", "minItems": 2, "maxItems": 2,
                          "items": {"$ref": "#/$defs/count"}}}
    if c["kind"] == "bool":
        return {"type": ["boolean", "null"] if c["maybe"] else "boolean"}
    if c["kind"] == "pid":
        return {"type": ["integer", "null"] if c["maybe"] else "integer"}
    if c["kind"] in ("gbs", "share", "number") or c["real"]:
        return {"$ref": "#/$defs/number_or_null"}
    if c["kind"] in ("count", "rank", "bytes", "us", "clock"):
        return {"$ref": f"#/$defs/count{maybe}"}
    return {"$ref": f"#/$defs/text{maybe}"}


def schema_object(columns, nullable=False):
    """columns: [(key, column or [(key, column)...])]"""
    properties = {}
    for key, c in columns:
        if isinstance(c, list):
            properties[key] = schema_object(
                c, all(m["maybe"] for k, m in c if k != "n"))
        else:
            properties[key] = {"description": c["help"], **schema_type(c)}
    return {"type": ["object", "null"] if nullable else "object",
            "additionalProperties": False, "required": list(properties),
            "properties": properties}


def schema_rows(table):
    columns = []
    for c in json_columns(table):
        name, dot, key = c["path"].partition(".")
        if not dot:
            columns.append((name, c))
        elif columns and columns[-1][0] == name:
            columns[-1][1].append((key, c))
        else:
            columns.append((name, [(key, c)]))
    return schema_object(columns)


def properties(node):
    """Of an object that may be one of several, or the rows of an array."""
    node = node.get("items", node)
    return {key: value for part in [node, *node.get("oneOf", [])]
            for key, value in part.get("properties", {}).items()}


def find_array(node, name):
    """The array of this name in a schema's properties, wherever it is; or of
    an object, "object.name"."""
    *way, name = name.split(".")
    for key in way:
        node = properties(node).get(key, {})
    if way:
        return properties(node).get(name)
    for key, value in node.get("properties", {}).items():
        if key == name and value.get("type") == "array":
            return value
        found = find_array(value, name)
        if found:
            return found
    return None


def check_findings(properties, table):
    """Other rows stand among these, so the schema has more than theirs."""
    for c in json_columns(table):
        if c["path"] not in properties:
            sys.exit(f"summary.schema.json: findings[] has no {c['path']}")
        if c["kind"] != "word":
            properties[c["path"]] = {"description": c["help"],
                                     **schema_type(c)}


def write_kinds(schema, table):
    """The words of findings[].kind, those of other rooms behind them."""
    row = find_array(schema, "findings")["items"]["properties"]
    words = [k["word"] for k in table["kinds"]]
    words += ["topology", "clock", "utilisation", *table["others"]]
    row["kind"]["pattern"] = f"^({'|'.join(words)})$"


def dump(node, indent=0, before=0):
    """JSON that breaks only what does not fit into a line."""
    flat = json.dumps(node, ensure_ascii=False)
    if before + len(flat) <= WIDTH or not isinstance(node, (dict, list)):
        return flat
    pad = " " * (indent + 2)
    if isinstance(node, dict):
        parts = []
        for key, value in node.items():
            head = f"{pad}{json.dumps(key)}: "
            parts.append(head + dump(value, indent + 2, len(head) + 1))
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [pad + dump(value, indent + 2, indent + 3) for value in node]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"


def new_section(table):
    """A place of a new table in the page."""
    names = [f"csv/{table['name']}.csv"] if table["csv"] else []
    names += [table["json"] + "[]"] if table["json"] else []
    what = table["help"][0].upper() + table["help"][1:]
    return (f"### {', '.join(names)}\n{what}.\n\n"
            f"<!-- table {table['name']} -->\n<!-- end -->\n\n")


def new_page(text, tables):
    done = set()
    for table in tables:
        name = table["name"]
        if name in done:
            continue
        done.add(name)
        mark = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.S)
        if not mark.search(text):
            head, behind, rest = text.partition(BEHIND_TABLES)
            text = head + new_section(table) + behind + rest
        text = mark.sub(lambda m, t=table: m[1] + markdown(t) + "\n" + m[2],
                        text)
    return text


def new_array(schema, table):
    """The array of a new table, in its object, which may be new, too."""
    *way, name = table["json"].split(".")
    node = schema
    for key in way:
        if key not in properties(node):
            node["required"].append(key)
            node["properties"][key] = {
                "description": "{} without data", "oneOf": [
                    {"type": "object", "maxProperties": 0},
                    {"type": "object", "required": [], "properties": {}}]}
        node = properties(node)[key]
        node = node.get("oneOf", [node])[-1]
    array = {"description": table["help"], "type": "array"}
    node["required"].append(name)
    node["properties"][name] = array
    return array


def new_schema(text, tables):
    schema = json.loads(text)
    for table in tables:
        if "kinds" in table:
            write_kinds(schema, table)
            continue
        if not table["json"]:
            continue
        array = find_array(schema, table["json"])
        if array is None:
            array = new_array(schema, table)
        if table["json"] == "findings":
            check_findings(array["items"]["properties"], table)
            continue
        if table["max"]:
            array["maxItems"] = table["max"]
        array["items"] = schema_rows(table)
    return dump(schema) + "\n"


def main():
    how, tables, docs = sys.argv[1:]
    with open(tables, encoding="utf-8") as f:
        tables = json.load(f)
    print("1..2" if how == "check" else f"tables into {docs}")
    for n, (name, make) in enumerate([("dev/report-format.md", new_page),
                                      ("summary.schema.json", new_schema)], 1):
        path = f"{docs}/{name}"
        with open(path, encoding="utf-8") as f:
            old = f.read()
        new = make(old, tables)
        if how == "write" and new != old:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
        elif how == "check":
            ok = "ok" if new == old else "not ok"
            print(f"{ok} {n} - {name} has the tables as they are: make tables")
            for line in sorted(set(new.split("\n")) - set(old.split("\n")))[:5]:
                print(f"# should have: {line[:150]}")


main()
