from serving.models import config, config_file
from serving.status import Code, ServingError

TEXT = 'model_config_list { config { name: "%s" base_path: "/m" model_platform: "tensorflow" } }'


class Manager:
    """Takes configs, or refuses them with `error`."""

    def __init__(self):
        self.applied, self.error = [], None

    def configs(self):
        return {each.name: each for each in (self.applied[-1] if self.applied else ())}

    def apply(self, configs):
        if self.error:
            raise self.error
        self.applied.append(configs)


def test_the_file_is_applied_when_it_says_something_else(tmp_path):
    path, manager, lines = tmp_path / "models.config", Manager(), []
    path.write_text(TEXT % "a")
    manager.apply(config.read(str(path)))
    poller = config_file.ConfigFilePoller(str(path), 3600, manager, lines.append)
    poller.look()
    assert (len(manager.applied), lines) == (1, [])
    path.write_text(TEXT % "b")
    poller.look()
    assert [list(manager.configs()), len(lines)] == [["b"], 1]

    path.write_text("nonsense")
    poller.look()
    poller.look()
    assert len(lines) == 2 and "Error parsing text-format" in lines[1]  # said once
    assert list(manager.configs()) == ["b"]

    path.write_text(TEXT % "c")
    manager.error = ServingError(Code.FAILED_PRECONDITION, "not yet")
    poller.look()
    assert "FAILED_PRECONDITION: not yet" in lines[-1]
    manager.error = None
    poller.look()  # what was refused is tried again
    assert list(manager.configs()) == ["c"]
    poller.close()
