"""The word splitter: its rules by example, and that no character is ever lost or moved."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.data.words import split_words

# Pieces that rules are about, so that random lines are full of their meetings.
PIECES = [
    *"aBsSéß7٣½_中ひカשनिक",
    *"ที่ခား々ーｶﾞ゛",
    *"'’-‐.,:·״/!()\"«€…#",
    *" \t\u00a0\u2028\u0085\u3000\x1c",
    *"\u0301\ufe0f\u200d\u200b\u200f\u202e\ufeff\u00ad\u20e3",
    *"👩❤🙂🏽🇩🇪\ue000\U000e0fff\x07",
    *("e\u0301", "🏴\U000e0067\U000e007f"),
]
KNOWN_LINES = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
LINES = st.one_of(KNOWN_LINES, st.text(st.characters(exclude_categories=("Cs",)), max_size=20))


def words(line: str) -> list[str]:
    return [line[start:end] for start, end in split_words(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        (" \t\u00a0 ", ""),
        ("naïve e\u0301te\u0301 हिन्दी user_name v2", "naïve|e\u0301te\u0301|हिन्दी|user_name|v2"),
        ("He isn't at O'Brien's.", "He|isn't|at|O'Brien|'s|."),
        ("l'Europe d’été auto's SMITH’S", "l'Europe|d’été|auto|'s|SMITH|’S"),
        ("the boys' 'quoted' word", "the|boys|'|'|quoted|'|word"),
        ("Smith 's", "Smith|'s"),
        ("'s-Hertogenbosch", "'|s-Hertogenbosch"),
        ("Jean-Claude lost 3-1 -- or-", "Jean-Claude|lost|3-1|--|or|-"),
        ("the U.S. and the U.N.", "the|U.S.|and|the|U.N."),
        ("so (e.g. U.S...) it is", "so|(|e.g.|U.S|...|)|it|is"),
        ("J. K. Rowling and Mr. Plan B.", "J.|K.|Rowling|and|Mr|.|Plan|B|."),
        ("i. e.", "i|.|e|."),
        ("At 10:30, $1,000.50: example.com", "At|10:30|,|$|1,000.50|:|example.com"),
        ("No.5 a:b x,y 1.a and/or", "No|.|5|a|:|b|x|,|y|1|.|a|and|/|or"),
        ('((Rome))!!! ?! ""', '(|(|Rome|)|)|!!!|?|!|"|"'),
        ("👩‍👩‍👧🇩🇪🇫🇷 👍🏽 ❤️‍🔥🙂🙂", "👩‍👩‍👧|🇩🇪|🇫🇷|👍🏽|❤️‍🔥|🙂🙂"),
        ("中文字と カタカナー ｶﾞx", "中|文|字|と|カ|タ|カ|ナ|ー|ｶﾞ|x"),
        ("เกิดที่ร้าน ၏ မြို့ 12 ភាសាខ្មែរ ພາສາ", "เ|กิ|ด|ที่|ร้|า|น|၏|မြို့|12|ភា|សា|ខ្មែ|រ|ພ|າ|ສ|າ"),
        ("NHKの本社。葛\U000e0100飾", "NHK|の|本|社|。|葛\U000e0100|飾"),
        ("한국어 문장 ㅋㅋㅋ", "한국어|문장|ㅋㅋㅋ"),
        ("\u200fשלום צה״ל", "\u200fשלום|צה״ל"),
        ("Donau\u00addampf\u200b x", "Donau\u00addampf\u200b|x"),
        ("@user #tag http://t.co/a", "@|user|#|tag|http|:|//|t.co|/|a"),
    ],
)
def test_the_rules_by_example(line: str, expected: str) -> None:
    assert words(line) == ([] if expected == "" else expected.split("|"))


@given(LINES)
@example("\u0301")
@example("\ufeffEU")
def test_words_and_places_give_the_line_back(line: str) -> None:
    places = split_words(line)
    rebuilt = [" "] * len(line)
    last = 0
    for start, end in places:
        assert last <= start < end <= len(line)
        rebuilt[start:end] = line[start:end]
        last = end
    blanked = "".join(" " if c.isspace() else c for c in line)
    assert "".join(rebuilt) == blanked


@given(LINES)
def test_words_are_the_words_of_their_text(line: str) -> None:
    """What is split already is not split further, nor joined."""
    found = words(line)
    assert words(" ".join(found)) == found


@given(KNOWN_LINES)  # regex may know a later Unicode than Python does
def test_what_stands_for_one_character_is_not_parted(line: str) -> None:
    """Between words that touch there is a boundary of what a reader sees as one character."""
    regex = pytest.importorskip("regex")
    edges = {0} | {match.end() for match in regex.finditer(r"\X", line)}
    for (_, end), (start, _) in zip(split_words(line), split_words(line)[1:], strict=False):
        if end == start:
            assert end in edges, words(line)
