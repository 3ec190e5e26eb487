"""The table holds the released record names and the names of TF Hub."""

from bert_tf import features

ROWS = [value for value in vars(features).values() if isinstance(value, features.Feature)]


def test_names_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len({row.record_name for row in ROWS}) == len(ROWS)


def test_the_encoder_takes_the_inputs_of_tf_hub_in_their_order():
    names = [row.name for row in features.ENCODER_INPUTS]
    assert names == ["input_word_ids", "input_mask", "input_type_ids"]


def test_pretraining_records_have_the_released_names_and_types():
    assert {row.record_name: row.dtype for row in features.PRETRAINING} == {
        "input_ids": "int32",
        "input_mask": "int32",
        "segment_ids": "int32",
        "masked_lm_positions": "int32",
        "masked_lm_ids": "int32",
        "masked_lm_weights": "float32",
        "next_sentence_labels": "int32",
    }


def test_a_record_may_hold_either_name_the_released_one_first():
    assert features.WORD_IDS.accepted_record_names == ("input_ids", "input_word_ids")
    assert features.TYPE_IDS.accepted_record_names == ("segment_ids", "input_type_ids")
    assert features.MASK.accepted_record_names == ("input_mask",)


def test_no_accepted_name_belongs_to_two_features():
    accepted = [name for row in ROWS for name in row.accepted_record_names]
    assert len(set(accepted)) == len(accepted)
