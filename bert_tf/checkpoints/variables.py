"""Our variables without a framework: the path and the shape of each, and what a kind of model has.

Kinds: "encoder" (no head), "pretrain", "classify", "regress", "span", "tag" (a label for each
token) and "choice" (one of several texts). The last layer of classify, regress, tag and choice is
`classifier`; a file with that layer alone does not tell which of them it is.
"""

from bert_tf.errors import InputError

KINDS = ("encoder", "pretrain", "classify", "regress", "span", "tag", "choice")

# Of which kinds each output has a label.
LABELLED = ("classify", "tag")

# The heads by their first part; the kinds that each can belong to, the likeliest first.
_HEADS = {
    "masked_lm": ("pretrain",),
    "next_sentence": ("pretrain",),
    "classifier": ("classify", "tag", "regress", "choice"),
    "span": ("span",),
}
_SINGLE_OUTPUT = ("regress", "choice")
_READ_POOLER = ("classify", "regress", "choice")  # and next sentence prediction

POOLER = ("encoder/pooler/kernel", "encoder/pooler/bias")


def shapes(config, num_outputs=1):
    """Dict from path to shape: every variable of an encoder and of every head.

    Args:
      config: `BertConfig`.
      num_outputs: int, C of the classifier.
    """
    v, h, i = config.vocab_size, config.hidden_size, config.intermediate_size
    found = {
        "encoder/embeddings/word": (v, h),
        "encoder/embeddings/position": (config.max_position_embeddings, h),
        "encoder/embeddings/type": (config.type_vocab_size, h),
        **_layer_norm("encoder/embeddings/layer_norm", h),
    }
    for index in range(config.num_hidden_layers):
        layer = f"encoder/layer_{index}"
        found |= _affine(f"{layer}/attention/qkv", h, 3 * h)
        found |= _affine(f"{layer}/attention/output", h, h)
        found |= _layer_norm(f"{layer}/attention_layer_norm", h)
        found |= _affine(f"{layer}/feed_forward/intermediate", h, i)
        found |= _affine(f"{layer}/feed_forward/output", i, h)
        found |= _layer_norm(f"{layer}/output_layer_norm", h)
    return {
        **found,
        **_affine("encoder/pooler", h, h),
        **_affine("masked_lm/transform", h, h),
        **_layer_norm("masked_lm/layer_norm", h),
        "masked_lm/output_bias": (v,),
        **_affine("next_sentence", h, 2),
        **_affine("classifier", h, num_outputs),
        **_affine("span", h, 2),
    }


def _affine(path, size_in, size_out):
    return {f"{path}/kernel": (size_in, size_out), f"{path}/bias": (size_out,)}


def _layer_norm(path, size):
    return {f"{path}/gamma": (size,), f"{path}/beta": (size,)}


def heads(paths):
    """First parts of the paths that belong to no encoder, sorted."""
    return sorted({path.split("/")[0] for path in paths} - {"encoder"})


def kind_of(paths, num_outputs, told=None, source="The checkpoint"):
    """The kind of model that variables make.

    Args:
      paths: their paths.
      num_outputs: int, C of the classifier, if there is one.
      told: the kind that files beside the weights or the user name, or None.
      source: str, how the message calls them.

    Raises:
      InputError: there are heads of two kinds, or of another than the one told.
    """
    found = heads(paths)
    possible = [set(_HEADS[head]) for head in found] or [{"encoder"}]
    kinds = set.intersection(*possible)
    if not kinds:
        raise InputError(
            f"{source} holds heads of several kinds: {', '.join(found)}. Leave out those that "
            "you do not want, e.g. --skip='span/.*'."
        )
    if told is not None:
        if told not in kinds:
            raise InputError(
                f"{source} holds {', '.join(found) or 'no head'}; a model of kind {told!r} was "
                f"wanted, which that is not. Its kind can be: {', '.join(sorted(kinds))}. The "
                "conversion's --kind says which, whatever the files beside it tell."
            )
        return told
    if kinds == set(_HEADS["classifier"]):
        return "regress" if num_outputs == 1 else "classify"
    (kind,) = kinds
    return kind


def check_outputs(kind, num_outputs, labels):
    """Refuses a classifier whose width contradicts its kind or its labels, and odd labels.

    Raises:
      InputError: it does.
    """
    if kind in _SINGLE_OUTPUT and num_outputs != 1:
        raise InputError(
            f"The classifier has {num_outputs} outputs; a model of kind {kind!r} has one. "
            "Give --kind=classify or --kind=tag."
        )
    if labels and kind not in LABELLED:
        raise InputError(f"A model of kind {kind!r} has no labels; --labels={','.join(labels)}.")
    if labels and len(labels) != num_outputs:
        raise InputError(
            f"The classifier has {num_outputs} outputs and there are {len(labels)} labels: "
            f"{', '.join(labels[:20])}. Give --labels, one for each output, divided by commas."
        )


def check_pooler(kind, paths, source):
    """Refuses a head that reads the pooler where there is none.

    Raises:
      InputError: it is so.
    """
    reads = kind in _READ_POOLER or "next_sentence/kernel" in paths
    if reads and POOLER[0] not in paths:
        head = "next_sentence" if kind == "pretrain" else "classifier"
        tag = " A classifier of each token reads none: --kind=tag." if kind == "classify" else ""
        raise InputError(
            f"{source} is a model of kind {kind!r}, whose {head} head reads the pooler, and holds "
            f"no pooler.{tag} Without the head it is whole: --skip='{head}/.*'."
        )


def default_labels(num_outputs):
    """What labels are called that nobody has named, as Hugging Face does."""
    return tuple(f"LABEL_{index}" for index in range(num_outputs))


def told_labels(labels):
    """The labels, or () if they are only `default_labels`."""
    labels = tuple(labels)
    return () if labels == default_labels(len(labels)) else labels
