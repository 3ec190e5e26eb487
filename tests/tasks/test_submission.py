"""The file for the server of GLUE, from output directories with invented predictions."""

import json
import zipfile

import pytest

from bert_tf.errors import InputError
from bert_tf.options import Submission
from bert_tf.tasks import registry, submission
from bert_tf.tasks.submission import SERVER_FILES

# Rows of the test sets: Wang et al. 2018, table 1; QNLI and AX as the server has them.
PUBLISHED = {
    "CoLA.tsv": 1063, "SST-2.tsv": 1821, "MRPC.tsv": 1725, "STS-B.tsv": 1379, "QQP.tsv": 390965,
    "MNLI-m.tsv": 9796, "MNLI-mm.tsv": 9847, "QNLI.tsv": 5463, "RTE.tsv": 3000, "WNLI.tsv": 146,
    "AX.tsv": 1104,
}  # fmt: skip


@pytest.fixture
def output_dir(tmp_path):
    """Makes an output directory with predictions; returns its path."""

    def make(task, answers, name="predictions.tsv", directory=None):
        path = tmp_path / (directory or task)
        path.mkdir(exist_ok=True)
        metadata = {"kind": "classify", "task": task, "labels": [], "num_texts": 1}
        metadata |= {"do_lower_case": True, "max_seq_length": 128, "format": 1}
        (path / "model.json").write_text(json.dumps(metadata))
        rows = "".join(f"{row}\t{answer}\ta text\n" for row, answer in enumerate(answers))
        (path / name).write_text(f"index\tprediction\ttext_a\n{rows}")
        return str(path)

    return make


@pytest.fixture
def options(tmp_path):
    def make(*directories, **changes):
        return Submission(
            output_dirs=",".join(directories), submission_file=str(tmp_path / "s.zip"), **changes
        )

    return make


def lines(path, name):
    with zipfile.ZipFile(path) as archive:
        return archive.read(name).decode().splitlines()


def test_the_server_s_files_have_the_published_sizes_and_labels():
    assert {file.name: file.num_rows for file in SERVER_FILES} == PUBLISHED
    for file in SERVER_FILES:
        assert file.labels == registry.get(file.task).labels
        assert file.majority in (file.labels or ["2.500"])


def test_predictions_of_several_directories(output_dir, options, capsys):
    rte = output_dir("rte", ["entailment", "not_entailment"] * 1500)
    sts = output_dir("sts-b", [-0.25, 5.5, 3.14159, *[2.0] * 1376])
    given = options(rte, sts)
    submission.main(given)
    with zipfile.ZipFile(given.submission_file) as archive:
        assert archive.namelist() == ["STS-B.tsv", "RTE.tsv"]
    assert lines(given.submission_file, "RTE.tsv")[:3] == [
        *("index\tprediction", "0\tentailment", "1\tnot_entailment")
    ]
    found = lines(given.submission_file, "STS-B.tsv")
    assert found[1:5] == ["0\t0.000", "1\t5.000", "2\t3.142", "3\t2.000"]
    assert len(found) == 1380
    said = capsys.readouterr().out
    assert f"  RTE.tsv         3,000 rows  {rte}/predictions.tsv\n" in said
    assert "s.zip, 2 of 11 files\n" in said
    assert "Missing: CoLA.tsv, SST-2.tsv, MRPC.tsv, QQP.tsv, MNLI-m.tsv, " in said


def test_mnli_gives_two_files_and_its_model_a_third(output_dir, options, tmp_path):
    three = ["neutral", "contradiction", "entailment"]
    output_dir("mnli", (three * 4000)[:9796], "predictions_matched.tsv")
    mnli = output_dir("mnli", (three * 4000)[:9847], "predictions_mismatched.tsv")
    predicted = output_dir("ax", (three * 4000)[:1104])
    (tmp_path / "ax/model.json").unlink()  # predicted with --init_checkpoint
    with pytest.raises(InputError, match=rf"no model\.json that says the task.* ax={predicted}"):
        submission.collect(options(mnli, predicted))
    parts = submission.collect(options(mnli, f"AX={predicted}/"))
    assert [part.file.name for part in parts] == ["MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"]
    assert [len(part.rows) for part in parts] == [9796, 9847, 1104]
    with pytest.raises(InputError, match="of task axe, which is not one of GLUE"):
        submission.collect(options(f"axe={predicted}"))


def test_missing_tasks_are_filled_with_their_most_frequent_answer(output_dir, options):
    directory = output_dir("wnli", ["1"] * 146)
    filled = submission.collect(options(directory, fill_missing=True))
    assert {part.file.name: len(part.rows) for part in filled} == PUBLISHED
    answers = {part.file.name: {answer for _, answer in part.rows} for part in filled}
    assert answers["WNLI.tsv"] == {"1"} and answers["QQP.tsv"] == {"0"}
    assert answers["MNLI-m.tsv"] == {"entailment"} and answers["STS-B.tsv"] == {"2.500"}
    assert [row_id for row_id, _ in filled[0].rows[:3]] == ["0", "1", "2"]


def test_wnli_by_its_majority_class(output_dir, options):
    directory = output_dir("wnli", ["1"] * 146)
    (part,) = submission.collect(options(directory, wnli_majority=True))
    assert part.rows == [(str(row), "0") for row in range(146)]
    assert part.source == "majority answer 0 (paper, appendix B.1)"


def test_the_same_predictions_give_the_same_bytes(output_dir, options, tmp_path):
    given = options(output_dir("wnli", ["1"] * 146))
    submission.main(given)
    first = (tmp_path / "s.zip").read_bytes()
    submission.main(given)
    assert (tmp_path / "s.zip").read_bytes() == first


@pytest.mark.parametrize(
    ("task", "answers", "message"),
    [
        ("wnli", ["0"] * 145, r"has 145 rows, and the test set of WNLI.tsv has 146"),
        ("wnli", ["0"] * 145 + ["2"], r"the prediction of 145 is '2'; WNLI.tsv has the labels 0, "),
        ("sts-b", ["1.0"] * 1378 + ["no"], "the prediction of 1378 is 'no'; STS-B.tsv has numbers"),
        ("sts-b", ["nan"] * 1379, "the prediction of 0 is 'nan'; STS-B.tsv has numbers"),
        ("topics", ["a"], "is of task topics, which is not one of GLUE. These are: cola, "),
    ],
)
def test_wrong_predictions_are_refused(output_dir, options, tmp_path, task, answers, message):
    given = options(output_dir(task, answers))
    with pytest.raises(InputError, match=message):
        submission.main(given)
    assert not (tmp_path / "s.zip").exists()


def test_wrong_directories_are_refused(output_dir, options, tmp_path):
    first = output_dir("wnli", ["0"] * 146)
    second = output_dir("wnli", ["0"] * 146, directory="again")
    with pytest.raises(InputError, match=r"both predictions for WNLI.tsv; leave out one"):
        submission.collect(options(first, second))
    with pytest.raises(InputError, match=r"no_such does not exist\. Give --output_dir of run_cl"):
        submission.collect(options(str(tmp_path / "no_such")))
    (tmp_path / "again" / "predictions.tsv").unlink()
    with pytest.raises(InputError, match=r"has no predictions of wnli\. Make them with run_cl"):
        submission.collect(options(second))


def test_an_id_that_is_there_twice_is_refused(output_dir, options):
    directory = output_dir("wnli", ["0"] * 145)
    with open(f"{directory}/predictions.tsv", "a", encoding="utf-8") as file:
        file.write("7\t1\ta text\n")
    with pytest.raises(InputError, match="1 ids are there more than once"):
        submission.collect(options(directory))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"output_dirs": " , "}, "names no directory"),
        ({"output_dirs": "a", "submission_file": "a.tar"}, "must end in .zip"),
    ],
)
def test_wrong_flags_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Submission(**values)
