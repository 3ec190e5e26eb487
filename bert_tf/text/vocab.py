"""vocab.txt: tokens to ids and back, special tokens, and the casing it was made for."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable

from bert_tf import files
from bert_tf.errors import InputError

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Special tokens, the released [unused] slots, and the <S> and <T> of the Chinese vocabulary.
_BRACKETED = re.compile(r"\[[^\[\]]+\]|<[ST]>")


class Vocabulary:
    """The tokens of a vocab.txt in the order of their ids.

    Attributes:
      tokens: indexed by id.
      ids: token to id.
      pad_id, unk_id, cls_id, sep_id, mask_id: ids of the special tokens.
      special_ids: of every token in square brackets: the five special tokens and the [unused]
        slots. None of them represents text.

    Raises:
      InputError: a special token is missing, [PAD] is not id 0, or a token occurs twice.
    """

    def __init__(self, tokens: Iterable[str], source: str = "vocabulary") -> None:
        self.tokens = tuple(tokens)
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self.ids) != len(self.tokens):
            twice = sorted(t for i, t in enumerate(self.tokens) if self.ids[t] != i)
            raise InputError(f"{source} has duplicate tokens: {twice[:5]}.")
        if missing := [token for token in SPECIAL_TOKENS if token not in self.ids]:
            raise InputError(
                f"{source} ({len(self.tokens)} tokens) has no {', '.join(missing)}; "
                f"a BERT vocabulary has {', '.join(SPECIAL_TOKENS)}, one token per line."
            )
        if self.tokens[0] != "[PAD]":
            raise InputError(f"{source}: id 0 is {self.tokens[0]!r}; it must be [PAD].")
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            self.ids[token] for token in SPECIAL_TOKENS
        )
        self.special_ids = frozenset(
            index for index, token in enumerate(self.tokens) if _BRACKETED.fullmatch(token)
        )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_cased(self) -> bool:
        """Whether any token that represents text has an upper-case letter.

        In the released uncased and Chinese vocabularies none has.
        """
        return any(
            token != token.lower()
            for index, token in enumerate(self.tokens)
            if index not in self.special_ids
        )

    @property
    def continuations(self) -> bytes:
        """[V]: 1 for a token that continues a word, such as "##ing", else 0."""
        return bytes(token.startswith("##") and len(token) > 2 for token in self.tokens)

    @property
    def text(self) -> str:
        """The content of a vocab.txt: each token, followed by a line feed."""
        return "".join(f"{token}\n" for token in self.tokens)

    @property
    def sha256(self) -> str:
        """Hash of `text`: the same for CRLF and LF files."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def from_file(path: files.StrPath, what: str = "--vocab_file") -> Vocabulary:
    """Reads a vocab.txt: one token per line; white space around it is stripped, as released.

    A file whose name ends in .json is read as Hugging Face's tokenizer.json.

    Args:
      what: what error messages call the file.

    Raises:
      InputError: no such file, not UTF-8, or not a BERT vocabulary.
    """
    files.require_file(path, what)
    with open(path, "rb") as file:
        data = file.read()
    source = f"{what}={path}"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8: {error}.") from None
    if os.fspath(path).endswith(".json"):
        return Vocabulary(_tokenizer_json_tokens(text, source), source)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return Vocabulary((line.strip() for line in lines), source)


def _tokenizer_json_tokens(text: str, source: str) -> list[str]:
    """The tokens of a tokenizer.json in the order of their ids."""
    try:
        values = json.loads(text)
        model = values["model"]
        kind = model.get("type", "WordPiece")
        ids: dict[str, int] = dict(model["vocab"])
        ids |= {token["content"]: token["id"] for token in values.get("added_tokens", ())}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source} is not a tokenizer.json: {error!r}.") from None
    if kind != "WordPiece":
        raise InputError(f"{source} is a tokenizer of type {kind!r}; BERT's is WordPiece.")
    if sorted(ids.values()) != list(range(len(ids))):
        raise InputError(f"{source}: the ids of its {len(ids)} tokens have gaps or duplicates.")
    return sorted(ids, key=lambda token: ids[token])


def copy(source: files.StrPath, path: files.StrPath) -> None:
    """Copies a vocabulary file to a vocab.txt: byte for byte if `source` is a vocab.txt."""
    if os.fspath(source).endswith(".json"):
        files.write_text(path, from_file(source).text)
        return
    with files.replacing(path) as temporary:
        shutil.copyfile(source, temporary)


def check_casing(vocabulary: Vocabulary, do_lower_case: bool, what: str = "--vocab_file") -> None:
    """Refuses a casing that would turn most of the text into [UNK].

    Raises:
      InputError: lower-casing with a cased vocabulary, or keeping case with an uncased one.
    """
    if do_lower_case and vocabulary.is_cased:
        raise InputError(
            f"{what} has tokens with upper-case letters, so it is cased, but text would be "
            "lower-cased. Give --do_lower_case=false, or an uncased vocabulary."
        )
    if not do_lower_case and not vocabulary.is_cased:
        raise InputError(
            f"{what} has no token with an upper-case letter, so it is uncased, but case would "
            "be kept. Give --do_lower_case=true, or a cased vocabulary."
        )
