"""The operations that models are made of, each compiled for the CPU and written plainly beside it.

Every file is one operation: the function that models call, which takes the compiled way where it can and the
plain one otherwise (other devices, other precisions); the plain one, ``…_plainly``, a few lines of torch or
numpy that say what is computed; and the loops that compute the same faster. `tests/ops/test_equivalence.py`
holds each to its plain form, values and gradients.

- `phase`: the angle of a time encoding and its cosine, exact for any age;
- `edge_mixing`: attention's weighted sums over the past events of each seed;
- `all_times`: the same for all candidates at all query times of a batch;
- `scoring`: the decoder's logits of many pairs;
- `gru`, `messages`: what a node's memory is told, and how it changes;
- `token_attention`, `feed_forward`, `dropping`: the Transformer of DyGFormer in training;
- `sequence_counts`: how often the nodes of two sequences occur in each other;
- `compiling`, `team`: how loops are compiled, and put on torch's threads.
"""
