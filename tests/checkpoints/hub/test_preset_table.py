"""Every released model has its name, its address and its size."""

import re

from bert_tf.checkpoints.hub import preset_table
from bert_tf.checkpoints.hub.preset_table import ALIASES, PRESETS

# The links of the README of google-research/bert, without its archive of all the small ones.
RELEASED = {
    "2018_10_18": ["uncased_L-12_H-768_A-12", "uncased_L-24_H-1024_A-16"]
    + ["cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16"],
    "2018_11_03": ["multilingual_L-12_H-768_A-12", "chinese_L-12_H-768_A-12"],
    "2018_11_23": ["multi_cased_L-12_H-768_A-12"],
    "2019_05_30": ["wwm_uncased_L-24_H-1024_A-16", "wwm_cased_L-24_H-1024_A-16"],
    "2020_02_20": [
        f"uncased_L-{layers}_H-{size}"
        for layers in (2, 4, 6, 8, 10, 12)
        for size in ("128_A-2", "256_A-4", "512_A-8", "768_A-12")
    ],
}


def test_every_released_archive_is_a_preset():
    wanted = {f"{date}/{name}" for date, names in RELEASED.items() for name in names}
    found = [p.location for p in PRESETS.values() if p.host == preset_table.GOOGLE]
    assert set(found) == wanted
    assert len(found) == len(wanted) == 33


def test_the_plain_name_of_bert_base_is_that_of_2018():
    assert PRESETS["uncased_L-12_H-768_A-12"].location == "2018_10_18/uncased_L-12_H-768_A-12"
    again = PRESETS["2020_02_20/uncased_L-12_H-768_A-12"]
    assert again.location == "2020_02_20/uncased_L-12_H-768_A-12"


def test_names_say_the_sizes_and_the_casing():
    for name, preset in PRESETS.items():
        if match := re.search(r"L-(\d+)_H-(\d+)_A-(\d+)$", name):
            layers, hidden, heads = map(int, match.groups())
            assert (preset.num_layers, preset.hidden_size) == (layers, hidden)
            assert hidden == 64 * heads
        if "cased" in name:
            assert preset.do_lower_case == ("uncased" in name), name


def test_the_casing_that_no_name_says_is_that_of_the_released_code():
    assert PRESETS["chinese_L-12_H-768_A-12"].do_lower_case
    assert PRESETS["multilingual_L-12_H-768_A-12"].do_lower_case


def test_weights_of_bert_base_take_what_the_released_file_takes():
    # Values of model.safetensors of bert-base-uncased, heads and pooler with them.
    assert PRESETS["google-bert/bert-base-uncased"].num_bytes == 4 * 110_106_428
    assert PRESETS["google-bert/bert-base-cased"].num_bytes == 4 * 108_932_934
    multilingual = PRESETS["google-bert/bert-base-multilingual-cased"]
    assert multilingual.num_bytes == 4 * 178_566_653
    # BERT-Tiny: 4.4 million parameters, as released.
    assert round(PRESETS["uncased_L-2_H-128_A-2"].num_bytes / 4e6, 1) == 4.4


def test_names_without_an_owner_are_those_of_before():
    assert ALIASES["bert-base-uncased"] == "google-bert/bert-base-uncased"
    assert len(ALIASES) == 15
    assert set(ALIASES.values()) <= PRESETS.keys()


def test_digests_have_their_lengths():
    for location, files in preset_table.SHA256.items():
        assert location in {preset.location for preset in PRESETS.values()}
        assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in files.values())
    for location, revision in preset_table._REVISIONS.items():
        assert location in PRESETS
        assert re.fullmatch("[0-9a-f]{40}", revision)


def test_a_digest_holds_for_the_revision_it_was_taken_from():
    name = "google-bert/bert-base-uncased"
    assert "model.safetensors" in PRESETS[name].sha256s
    assert preset_table.repository(name) is PRESETS[name]
    assert preset_table.repository(name, PRESETS[name].revision) is PRESETS[name]
    other = preset_table.repository(name, "main")
    assert (other.revision, other.sha256s) == ("main", {})


def test_a_repository_that_is_not_in_the_table():
    preset = preset_table.repository("owner/model")
    assert (preset.name, preset.revision, preset.num_bytes) == ("owner/model", "main", None)
    assert preset_table.repository("owner/model", "v2").name == "owner/model@v2"
