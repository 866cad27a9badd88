"""check_answers.py DIR [WORD]: does a report say what was looked for?"""
import html
import json
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

late = answers["late_rank"]
records = summary["quality"]["records"]
if word == "OK" and records:
    assert late["state"] == "not_found", late
    assert late["least"] or late["why"], late
    assert summary["verdict"]["judged"], summary["verdict"]
if word == "OK" and not records: # Copper's alone: ranks were compared
    copper = summary["copper"]
    assert copper["ranks_not_judged"] < len(copper["ranks"]), copper["totals"]
if word == "UNJUDGED" and records:
    assert late["state"] == "not_judged", late
    assert late["why"][:40] in summary["verdict"]["text"], summary["verdict"]
if word in ("OK", "UNJUDGED", "SLOW", "DEGRADED") and records:
    assert " ".join(summary["verdict"]["judged"].split())[:60] in text
    assert "not looked at" not in late["why"] if late["why"] else True
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
