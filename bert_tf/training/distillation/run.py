"""What a run with --teacher learns, and from which rows."""

import keras

from bert_tf.examples.rows import Rows
from bert_tf.options import TaskTraining
from bert_tf.options.finetuning.distillation import OF_TEACHER
from bert_tf.tasks.task import Task
from bert_tf.training import setup
from bert_tf.training.distillation import teacher as teachers
from bert_tf.training.distillation.objective import Distillation
from bert_tf.training.finetuning.task_data import Labelled
from bert_tf.training.step.objectives import Objective


def objective_and_rows(
    run: setup.Run[TaskTraining], task: Task, train_set: Labelled, rows: Rows
) -> tuple[Objective, Rows]:
    """The task and its rows; with --teacher, also the teacher's answers to learn from.

    Args:
      rows: of the training set.

    Raises:
      InputError: the output directory holds the answers of another teacher.
    """
    options = run.inputs.options
    if not options.teacher:
        return task, rows
    teacher = teachers.open_teacher(options.teacher)
    digest = teacher.digest()
    rows = teachers.answered(
        teacher,
        digest,
        task,
        train_set.examples,
        rows,
        run.directory.path,
        options.predict_batch_size,
    )
    identity = {name: getattr(options, name) for name in OF_TEACHER} | {"teacher": digest}
    model = None
    if options.distillation_alpha_cos:
        model = _frozen_model(run, teacher)
    objective = Distillation(task, options, identity, model)
    print(
        f"Teacher: {teacher.path}; its answers have the weight {options.distillation_alpha:g}, the "
        f"labels {1 - options.distillation_alpha:g}"
        + (f", hidden states {options.distillation_alpha_cos:g}" if model else ""),
        flush=True,
    )
    return objective, rows


def _frozen_model(run: setup.Run[TaskTraining], teacher: teachers.Teacher) -> keras.Model:
    """The teacher on the devices of the run, to give its hidden states in each update."""
    assert isinstance(teacher, teachers.TrainedTeacher), "`Teacher.check` refuses others"
    with run.strategy.scope():
        model = teacher.directory.build_model()
    model.trainable = False
    model.gives_hidden_states = True
    return model
