"""Hugging Face tokenizers in an interpreter of its own, timed on request.

Run by `benchmarks/text/tokenizer_speed.py`. The first line of standard input is a JSON object with
the vocabulary, the casing and the batches of lines; after it, each line asks for one round,
answered with the process CPU seconds that it took. The first answer is the ids of all lines.
"""

import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"


def encode_all(tokenizer, batches):
    encoded = (tokenizer.encode_batch(batch, add_special_tokens=False) for batch in batches)
    return [encoding.ids for batch in encoded for encoding in batch]


def main():
    from tokenizers import BertWordPieceTokenizer

    task = json.loads(sys.stdin.readline())
    tokenizer = BertWordPieceTokenizer(task["vocab_file"], lowercase=task["do_lower_case"])
    print(json.dumps(encode_all(tokenizer, task["batches"])), flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        encode_all(tokenizer, task["batches"])
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
