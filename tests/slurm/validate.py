"""Validate a JSON file against a JSON Schema: validate.py SCHEMA FILE."""
import json
import sys

import jsonschema

with open(sys.argv[1]) as f:
    schema = json.load(f)
with open(sys.argv[2]) as f:
    document = json.load(f)
validator = jsonschema.validators.validator_for(schema)(schema)
errors = sorted(validator.iter_errors(document), key=str)
for error in errors[:20]:
    print(f"{sys.argv[2]}: {'/'.join(map(str, error.path))}: {error.message}",
          file=sys.stderr)
sys.exit(1 if errors else 0)
