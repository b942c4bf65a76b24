"""Which shop will each customer visit next? A mailing list from a log of orders, and how far to trust it.

Run it anywhere: `python rank_for_a_shop.py`. It writes two logs, a run and mailing.csv.
"""

from pathlib import Path

import keat
from keat.datasets.example import write_example

# A log of simulated orders, and the orders of the day after. With a log of your own, leave this out.
write_example(Path())

# Train on the log. Three columns are enough: who, with whom, when.
run = keat.train("keat-rank", "orders.csv", src="customer", dst="shop", time="when", out="shop-run", epochs=3)

# How good is it on the last 15 % of the log, which it did not learn from? And what does a simple rule reach?
tested = run.evaluate()
data = keat.load("orders.csv", src="customer", dst="shop", time="when")
rule = keat.evaluate(keat.create_link_model("local-global", data.train), keat.make_task(data), refresh=1)
print(f"MRR of the model {tested.metrics['mrr']:.3f}, of the rule local-global {rule.metrics['mrr']:.3f}")

# Show it what has happened since, and keep that: tomorrow, keat.open("shop-run") goes on from here.
seen = run.observe("today.csv")
run.save()
print(f"{seen.events} new orders, {seen.newcomers} new names")

# The three likeliest shops of one customer, and then the best one of every customer as a file.
print(run.rank("C-037", top=3))
print(run.rank(top=1).write("mailing.csv"))
