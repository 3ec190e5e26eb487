"""Vocabulary learners of others, each in an interpreter of its own; run by `vocabulary.py`.

Standard input is a JSON object: `learner`, `input_file` (a sentence a line), `vocab_size`,
`reserved` (tokens that come first), `do_lower_case` and `output_file`.
"""

import json
import sys


def learn_with_tokenizers(task):
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=task["do_lower_case"])
    tokenizer.train(
        task["input_file"],
        vocab_size=task["vocab_size"],
        special_tokens=task["reserved"],
        show_progress=False,
    )
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.get)


def learn_with_tf_text(task):
    import tensorflow as tf
    from tensorflow_text.tools.wordpiece_vocab import bert_vocab_from_dataset

    return bert_vocab_from_dataset.bert_vocab_from_dataset(
        tf.data.TextLineDataset(task["input_file"]).batch(1000).prefetch(2),
        vocab_size=task["vocab_size"],
        reserved_tokens=task["reserved"],
        bert_tokenizer_params={"lower_case": task["do_lower_case"]},
    )


def main():
    task = json.load(sys.stdin)
    learn = {"tokenizers": learn_with_tokenizers, "tf-text": learn_with_tf_text}[task["learner"]]
    tokens = learn(task)
    with open(task["output_file"], "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{token}\n" for token in tokens)


if __name__ == "__main__":
    main()
