"""Print comms.csv without what the nodes' topologies add to it.

A report of a step labels its communicators; an aggregation of plain folders
knows nothing of nodes.
"""
import csv
import sys

LABELS = "evidence why fabric inter rail hca_path warnings".split()

with open(sys.argv[1], newline="") as sheet:
    for row in csv.DictReader(sheet):
        print([value for key, value in row.items() if key not in LABELS])
