from collector.alerts import in_quiet_hours, swarm_detected
from collector.readings import Reading


def test_swarm_detected_on_a_sudden_loss():
    before = Reading("a", 0, 41.0, 20.0, 50.0)
    after = Reading("a", 600, 39.2, 20.0, 50.0)
    assert swarm_detected([before, after])


def test_quiet_hours_pass_midnight():
    assert in_quiet_hours(23, 22, 6)
    assert not in_quiet_hours(12, 22, 6)
