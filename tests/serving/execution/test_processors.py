from serving.execution import processors


def available(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_max", ".max")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return processors.available(tmp_path)


def test_a_container_limits_the_cpus(tmp_path, monkeypatch):
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: set(range(8)))
    assert available(tmp_path) == 8  # no control group
    assert available(tmp_path, cpu_max="max 100000\n") == 8
    assert available(tmp_path, cpu_max="250000 100000\n") == 3
    assert available(tmp_path, cpu_max="10000 100000\n") == 1
    assert available(tmp_path, cpu_max="1600000 100000\n") == 8


def test_a_container_of_version_1_does_too(tmp_path, monkeypatch):
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: set(range(8)))
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("200000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert processors.available(tmp_path) == 2
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    assert processors.available(tmp_path) == 8
