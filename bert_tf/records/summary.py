"""What a run of create_pretraining_data.py read and made: counts, shares and warnings."""

import time

_MANY_UNKNOWN = 0.05
_MANY_CAPPED = 0.05


class Summary:
    """Counts documents and examples as they pass by.

    Attributes:
      num_documents, num_short_documents, num_lines, num_invalid_lines, num_bytes: int, of the
        input; short documents have fewer than two sentences and are left out.
      num_text_tokens, num_short_tokens, num_unknown: int, tokens of the input, those in short
        documents, and those that are [UNK].
      num_examples, num_random_next, num_capped: int, of the output.
      num_tokens: int, tokens of the output, special tokens included.
      num_predictions, num_masked, num_kept: int, tokens to predict; those that became [MASK];
        those that stayed as they were.
    """

    def __init__(self, vocabulary, options):
        self._vocabulary = vocabulary
        self._options = options
        self._start = time.monotonic(), time.process_time()
        self.num_documents = self.num_short_documents = 0
        self.num_lines = self.num_invalid_lines = self.num_bytes = 0
        self.num_text_tokens = self.num_short_tokens = self.num_unknown = 0
        self.num_examples = self.num_random_next = self.num_capped = 0
        self.num_tokens = 0
        self.num_predictions = self.num_masked = self.num_kept = 0

    def add_document(self, text, document):
        """Counts a `text.documents.Document` and the `pairs.Document` made from it."""
        self.num_documents += 1
        if document.num_sentences < 2:
            self.num_short_documents += 1
            self.num_short_tokens += len(document.ids)
        self.num_lines += len(text.sentences)
        self.num_invalid_lines += text.num_invalid_lines
        self.num_bytes += text.num_bytes
        self.num_text_tokens += len(document.ids)
        self.num_unknown += document.ids.count(self._vocabulary.unk_id)

    def add_example(self, example):
        """Counts a `PretrainingExample`."""
        word_ids = example.word_ids
        self.num_examples += 1
        self.num_random_next += example.is_random_next
        self.num_capped += example.is_capped
        self.num_tokens += len(word_ids)
        self.num_predictions += len(example.positions)
        self.num_masked += word_ids.count(self._vocabulary.mask_id)
        self.num_kept += sum(
            word_ids[place] == label
            for place, label in zip(example.positions, example.labels, strict=True)
        )

    @property
    def num_randomized(self):
        """Tokens to predict in whose place stands another one."""
        return self.num_predictions - self.num_masked - self.num_kept

    @property
    def num_words(self):
        """Tokens of the output without [CLS] and [SEP]."""
        return self.num_tokens - 3 * self.num_examples

    def text(self):
        """The summary to print, warnings last."""
        seconds = time.monotonic() - self._start[0]
        cpu_seconds = time.process_time() - self._start[1]
        predictions = max(1, self.num_predictions)
        positions = self.num_examples * self._options.max_seq_length
        megabytes = self.num_bytes / 1e6
        lines = [
            f"Read {self.num_documents} documents, {self.num_lines} sentences, "
            f"{self.num_text_tokens} tokens, {megabytes:.2f} MB of text.",
            f"Wrote {self.num_examples} examples, {self.num_tokens} tokens; "
            f"{_percent(self.num_tokens, positions)} of the positions hold one.",
            f"Tokens to predict: {_percent(self.num_predictions, self.num_words)} of the text; "
            f"[MASK] stands for {_percent(self.num_masked, predictions)} of them, another token "
            f"for {_percent(self.num_randomized, predictions)}, "
            f"{_percent(self.num_kept, predictions)} are kept.",
            f"Second text from another document: "
            f"{_percent(self.num_random_next, self.num_examples)}.",
            f"{seconds:.1f} s, {cpu_seconds:.1f} s of CPU, "
            f"{megabytes / max(1e-9, cpu_seconds):.2f} MB of text per CPU second.",
        ]
        return "\n".join(lines + [f"WARNING: {warning}" for warning in self._warnings()])

    def _warnings(self):
        if self.num_short_documents:
            yield (
                f"{self.num_short_documents} documents have fewer than two sentences and were "
                f"left out ({_percent(self.num_short_tokens, self.num_text_tokens)} of the text): "
                "no sentence follows. Blank lines part documents, not sentences."
            )
        if self.num_invalid_lines:
            yield (
                f"{self.num_invalid_lines} lines are not UTF-8; the bytes that cannot be decoded "
                "were dropped."
            )
        if self.num_unknown > _MANY_UNKNOWN * self.num_text_tokens:
            yield (
                f"{_percent(self.num_unknown, self.num_text_tokens)} of the tokens are [UNK]; "
                "is the vocabulary one for this language?"
            )
        if self.num_capped > _MANY_CAPPED * self.num_examples:
            options = self._options
            room = options.max_seq_length - 3
            yield (
                f"--max_predictions_per_seq={options.max_predictions_per_seq} kept "
                f"{_percent(self.num_capped, self.num_examples)} of the examples below "
                f"--masked_lm_prob={options.masked_lm_prob}; "
                f"{int(options.masked_lm_prob * room + 0.5)} would be enough for "
                f"--max_seq_length={options.max_seq_length}."
            )


def _percent(part, whole):
    return f"{100 * part / max(1, whole):.1f} %"
