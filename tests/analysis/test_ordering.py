from featbert.analysis.rows import by_value
from featbert.text import natural


def test_numbers_within_names_are_numbers():
    ordered = ["", "1" + "0" * 5000, "a", "layer:0", "layer:9", "layer:010", "layer:11", "layers"]
    ordered.sort(key=natural)
    assert ordered[1:3] == ["a", "layer:0"]
    assert ordered[3:] == ["layer:9", "layer:010", "layer:11", "layers", "1" + "0" * 5000]


def test_settings_come_by_what_they_are():
    told = ["unset", "1e-05", "true", "none", "10", "nan", "inf", "0.001", "9", "-1", "0.5"]
    assert sorted(told, key=by_value) == [
        *("-1", "1e-05", "0.001", "0.5", "9", "10"),
        *sorted(["unset", "true", "none", "nan", "inf"]),
    ]
