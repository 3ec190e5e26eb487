"""`run_squad.py`: fine-tune on questions about passages, answer them, score the answers.

Files in `--output_dir` in addition to those of a model directory: predictions.json,
nbest_predictions.json and, for SQuAD 2.0, null_odds.json, as released; eval_results.txt where the
questions have gold answers; report.html of a training.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from bert_tf.options import QuestionAnswering
from bert_tf.tasks import squad
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.scoring import questions as answered_questions
from bert_tf.training import setup
from bert_tf.training.finetuning import finetune, squad_data, trained_weights
from bert_tf.training.finetuning.predict import Predictor
from bert_tf.training.finetuning.squad_data import Questions, SquadData
from bert_tf.training.inputs import announce
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.resume import full_disk
from bert_tf.training.step import objectives


def run(options: QuestionAnswering) -> None:
    """Runs what the flags ask for; see the module.

    Raises:
      InputError: see `squad_data.read`.
    """
    run_on(squad_data.read(options))


@full_disk.explained
def run_on(given: SquadData) -> None:
    """`run` on what was read and checked."""
    options, questions = given.inputs.options, given.questions
    strategy = setup.set_up_devices(options)
    announce(options)
    run = setup.Run(given.inputs, strategy, given.directory)
    if given.rows:
        evaluate = None
        if questions and options.do_eval:
            evaluate = functools.partial(_evaluate, questions, options)
        scores = finetune.train(run, given.rows, objectives.SPANS, given.main_metric, evaluate)
        if options.do_eval and run.is_chief:
            finetune.write_results(options.output_dir, scores.results())
    if not run.is_chief:
        return
    if questions and (options.do_predict or not options.do_train):
        _answer(given, questions, strategy)
    if given.rows:
        finetune.write_report(options.output_dir)


def _predict(questions: Questions, batch_size: int, predictor: Predictor) -> list[squad.Prediction]:
    """The predictions of the questions, in their order."""
    starts: dict[int, np.ndarray] = {}
    ends: dict[int, np.ndarray] = {}
    batches = predictor.batches(questions.rows, batch_size, "answer")
    for indices, outputs in batches:
        starts.update(zip(indices.tolist(), outputs["start_logits"], strict=True))
        ends.update(zip(indices.tolist(), outputs["end_logits"], strict=True))
    windows = range(len(questions.windows))
    return questions.decode([starts[i] for i in windows], [ends[i] for i in windows])


def _evaluate(questions: Questions, options: QuestionAnswering, predictor: Predictor) -> Evaluation:
    """The official metrics of the model's predictions, in percent."""
    predictions = _predict(questions, options.predict_batch_size, predictor)
    found = answered_questions.evaluation(
        questions.examples,
        predictions,
        version_2_with_negative=options.version_2_with_negative,
        threshold=options.null_score_diff_threshold,
    )
    # "best_" begins the names of the best weights' scores in eval_results.txt.
    return dataclasses.replace(found, metrics=questions.score(predictions))


def _answer(given: SquadData, questions: Questions, strategy: tf.distribute.Strategy) -> None:
    """Writes the prediction files of the best weights and, where there are gold answers, scores."""
    options = given.inputs.options
    is_trained = options.do_train and options.do_eval  # and so scored
    results: dict[str, float] = {}
    for weights in trained_weights.find(
        given.inputs,
        given.directory,
        Scores(given.directory.path, given.main_metric),
        strategy,
        with_last=options.do_eval and not options.do_train,
    ):
        predictions = _predict(questions, options.predict_batch_size, weights.predictor)
        if questions.have_answers and not is_trained:
            results |= weights.results(questions.score(predictions))
    if options.do_predict:
        paths = squad.write_predictions(options.output_dir, questions.examples, predictions)
        print(f"Predictions: {', '.join(paths)}", flush=True)
    if results:
        finetune.write_results(options.output_dir, results)
