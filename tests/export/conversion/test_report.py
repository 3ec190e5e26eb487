from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.opening import format_named
from export.conversion import report as conversion_report
from tests.checkpoints import samples


def test_the_report_counts_what_went_where(tmp_path, capsys):
    given = samples.state_dict("classify", tmp_path / "given")
    (tmp_path / "tf1").mkdir()
    format_named("tf1").write(given, str(tmp_path / "tf1"))
    checkpoint = open_checkpoint(tmp_path / "tf1")
    state_dict, report = reading.read(checkpoint, skip=("classifier/.*",))
    conversion_report.write(
        checkpoint,
        report,
        state_dict,
        format_named("bert_tf"),
        str(tmp_path / "given"),
        ["A note."],
    )
    lines = capsys.readouterr().out.splitlines()
    table = {line.split("  ")[1]: line.split()[-4:] for line in lines if line.startswith("  ")}
    # V H + P H + T H + 2 H; twice 4 H H + 2 H I + 9 H + I; H H + H, of V 101, P 17, H 21, I 37.
    assert table["embeddings"] == ["5", "5", str((101 + 17 + 2 + 2) * 21), "0.0"]
    assert table["layers"] == ["32", "32", str(2 * (4 * 441 + 2 * 777 + 9 * 21 + 37)), "0.0"]
    assert table["pooler"] == ["2", "2", str(441 + 21), "0.0"]
    assert "classifier" not in table
    text = "\n".join(lines)
    assert "left out (2): output_bias, output_weights" in text
    assert "Note: A note." in text
    assert "Google TensorFlow 1" in text and "101 tokens" in text
    assert f"vocab.txt {(tmp_path / 'given' / 'vocab.txt').stat().st_size} B" in text
