from slug import slug


def test_words_are_joined():
    assert slug("Phase Gate") == "phase-gate"


def test_signs_are_dropped():
    assert slug("Done, really?") == "done-really"
