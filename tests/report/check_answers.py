"""check_answers.py DIR [WORD]: does a report say what was looked for?"""
import html
import json
import re
import sys

KEYS = ["late_rank", "late_node", "stall", "slow_network", "slow_link",
        "drift", "hang", "crash", "imbalance", "stage_imbalance",
        "small_messages", "topology", "data_loss"]
# Kinds whose question has another name, or depends on more than the kind.
OTHER = {"slow_network": {"slow_network", "slow_link", "drift"}}

with open(sys.argv[1] + "/summary.json", encoding="utf-8") as f:
    summary = json.load(f)
with open(sys.argv[1] + "/summary.txt", encoding="utf-8") as f:
    text = " ".join(f.read().split())
word = summary["verdict"]["word"]
answers = {h["key"]: h for h in summary["hypotheses"]}

assert set(KEYS) <= set(answers), set(KEYS) - set(answers)
for key, h in answers.items():
    assert h["question"].endswith("?") and h["title"] and h["of"], h
    assert h["state"] in ("found", "not_found", "not_judged"), h
    if h["state"] == "not_judged":
        assert h["why"] and h["todo"] and h["least"] is None, h
    else:
        assert h["todo"] is None, h
        assert h["least"] is None or h["least"] > 0, h

# An effect as large as all of the run cannot be, nor one that is larger.
WHOLES = ("of the run's time", "of the GPUs' time", "of the network's time",
          "of the records")
for h in answers.values():
    assert not (h["of"] in WHOLES and h["least"] and h["least"] >= 1), h

# Counts have separators. What is a name of something has none: a rank, a
# process, an operation's number, a job's.
def sentences(node, key=None):
    if isinstance(node, dict):
        for k, v in node.items():
            yield from sentences(v, k)
    elif isinstance(node, list):
        for v in node:
            yield from sentences(v, key)
    elif isinstance(node, str) and key in ("text", "plain", "judged", "why",
                                           "next", "checks", "note"):
        yield node
NAMES = re.compile(r"(?i)\b(ranks?|tasks?|pid|step|job|[A-Z]\w+[a-z][A-Z]\w*|"
                   r"Broadcast|Reduce|Send|Recv|report|line) [\d, -]+"
                   r"|\d{4}-\d\d-\d\d|0x[0-9a-f]+|\S*[/=:.]\S*|\w+-\d+|\(now \d+\)|\w*[a-z_]\w*\d+")
def bare(sentence):
    return re.findall(r"(?<![\d,.])\d{4,}(?![\d,.]*\d)", NAMES.sub("", sentence))
lines = list(sentences(summary))
with open(sys.argv[1] + "/summary.txt", encoding="utf-8") as f:
    lines += [line for line in f if not re.search(r"^  (step|input) ", line)]
for line in lines:
    assert not bare(line), (bare(line), line)

late = answers["late_rank"]
records = summary["quality"]["records"]
if word == "OK" and records:
    assert late["state"] == "not_found", late
    assert late["least"] or late["why"], late
    assert summary["verdict"]["judged"], summary["verdict"]
if word == "OK" and records: # of as many ranks in each sentence
    ranks = [re.search(r"([\d,]+) ranks?\b", summary["verdict"][key]).group(1)
             for key in ("plain", "text")]
    assert ranks[0] == ranks[1], summary["verdict"]
if word == "OK" and not records: # Copper's alone: ranks were compared
    copper = summary["copper"]
    assert copper["ranks_not_judged"] < len(copper["ranks"]), copper["totals"]
if word == "UNJUDGED" and records:
    if late["state"] == "not_found": # only a larger effect, or not in all operations
        assert re.search("would not have been (seen|named)", summary["verdict"]["text"]), summary["verdict"]
    else:
        assert late["state"] == "not_judged", late
        assert late["why"][:40] in summary["verdict"]["text"], summary["verdict"]
if word in ("OK", "UNJUDGED", "SLOW", "DEGRADED") and records:
    assert " ".join(summary["verdict"]["judged"].split())[:60] in text
    assert "not examined" not in late["why"] if late["why"] else True
    with open(sys.argv[1] + "/report.html", encoding="utf-8") as f:
        page = " ".join(html.unescape(f.read()).split())
    banner = page[page.index('class="verdict'):page.index("</header>")
                  if page.find("</header>") > page.index('class="verdict')
                  else page.index("<section")]
    assert " ".join(summary["verdict"]["judged"].split()) in banner, banner
for f in summary["findings"]:
    if f["kind"] == "topology" or f["kind"].startswith("copper"):
        continue
    rows = OTHER.get(f["kind"], {f["kind"]})
    assert any(answers[k]["state"] == "found" for k in rows if k in answers), f
if len(sys.argv) > 2:
    assert word == sys.argv[2], summary["verdict"]
print(word, "-", summary["verdict"].get("judged"))
