"""What texts say, as far as it can be told without understanding them: form, language, numbers, names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile("([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
"""Characters of scripts that are written without spaces: each is a word here."""


_remembered = lru_cache(maxsize=32)
"""The rules ask the same of the same texts, one after the other."""


@_remembered
def words(text: str) -> tuple[str, ...]:
    """The words of a text, in small letters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return tuple(_WORD.findall(_WIDE.sub(r" \1 ", folded)))


def overlap(one: str, other: str) -> int:
    """How many words two texts share, each as often as in the one that has it less often."""
    return (Counter(words(one)) & Counter(words(other))).total()


_MARKUP = (
    (re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,500}\)"), r"\1"),  # links and images
    (re.compile(r"^\s*(?:```\w*|#{1,6}|>|[-*+•]|\d+[.)])\s*", re.MULTILINE), " "),  # fences, headings, lists
    (re.compile(r"^\s*\|?[\s:|-]+\|?\s*$", re.MULTILINE), " "),  # the line under a table's head
    (re.compile(r"</?[a-zA-Z][^<>]*>"), " "),
)


def without_form(text: str) -> str:
    """The letters and digits of a text, without markup, case, punctuation and spaces."""
    for pattern, rest in _MARKUP:
        text = pattern.sub(rest, text)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum() or unicodedata.category(char) in ("Mn", "Mc"))


_SCRIPTS = {
    "LATIN": "Latin",
    "CYRILLIC": "Cyrillic",
    "GREEK": "Greek",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Devanagari",
    "BENGALI": "Bengali",
    "TAMIL": "Tamil",
    "THAI": "Thai",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese",
}
_MOSTLY = 0.7


def script(text: str) -> str | None:
    """The script that most letters of a text are of; None where that cannot be said."""
    found: Counter[str] = Counter()
    for char in text:
        if char.isalpha():
            found[_SCRIPTS.get(unicodedata.name(char, "").partition(" ")[0], "other")] += 1
    if found["Japanese"]:
        found["Japanese"] += found.pop("Chinese", 0)
    if not found:
        return None
    name, amount = found.most_common(1)[0]
    return name if name != "other" and amount >= _MOSTLY * found.total() else None


_COMMON_WORDS = {
    "English": "the is are was your you and to of for with has have will not this that it at from be been",
    "German": "der die das ist sind war und nicht ein eine für mit dem den ihr ihre auf wird wurde sie zu im",
    "French": "le la les est sont et une pour avec vous votre dans pas des du qui été sera nous cette au",
    "Spanish": "el la los las es son y una para con su se por del ha han que no está será usted en",
    "Italian": "il la gli è sono e una per con del della che non di suo tuo stato nel alla ha",
    "Portuguese": "o os as é são e uma para com seu sua não do da em foi está que você por",
    "Dutch": "de het een is zijn en niet voor met van uw je op wordt werd dat in te heeft",
    "Polish": "jest są i nie na do się że to z w po zostało został twoje oraz",
}
_STOPWORDS = {name: frozenset(listed.split()) for name, listed in _COMMON_WORDS.items()}
_SURE = 3
"""So many common words of a language, and twice as many as of any other, and it is that language."""


@_remembered
def language(text: str) -> str | None:
    """The language of a text, or its script where several languages have it; None if it is not sure."""
    written = script(text)
    if written != "Latin":
        return written
    found = set(words(text))
    hits = sorted(((len(found & common), name) for name, common in _STOPWORDS.items()), reverse=True)
    (most, name), (second, _) = hits[:2]
    return name if most >= _SURE and most >= 2 * second else None


_NEGATING = "not no never none cannot without nicht kein keine nie ne pas jamais nunca non нет не ни"
_NEGATIONS = frozenset(_NEGATING.split())
_NOT_SHORT = re.compile(r"n['’]t\b", re.IGNORECASE)


def negations(text: str) -> int:
    """How many words that turn the meaning round a text has."""
    return sum(word in _NEGATIONS for word in words(text)) + len(_NOT_SHORT.findall(text))


_NUMBER = re.compile(r"(?<!\w)(?<![^\W\d]-)\d+(?:[.,'’:/\-]\d+)*(?![^\W_])")
_LIST_NUMBER = re.compile(r"^\s*\d+[.)](?=\s)", re.MULTILINE)


@_remembered
def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text as written, each once; those that count the items of a list are none."""
    return tuple(dict.fromkeys(_NUMBER.findall(_LIST_NUMBER.sub(" ", text))))


def readings(number: str) -> set[float]:
    """What a number may mean: `1,234` is 1234 to some and 1.234 to others."""
    plain = re.sub(r"['’]", "", number)
    if re.search(r"[:/-]", plain):
        return set()
    candidates = {plain.replace(",", ""), plain.replace(".", "").replace(",", ".")}
    found = set()
    for text in candidates:
        try:
            found.add(float(text))
        except ValueError:
            continue
    return found


def pieces(text: str) -> list[int]:
    """The whole numbers between separators: those of a date, say. Longer ones are cut to 18 digits."""
    return [int(digits[:18]) for digits in re.findall(r"\d+", text)]


def same_number(one: str, other: str) -> bool:
    """Whether two numbers as written may be the same: 1,200 and 1200.00."""
    if one == other:
        return True
    left, right = readings(one), readings(other)
    if left or right:
        return bool(left & right)
    return pieces(one) == pieces(other)


_NAME = re.compile(r"(?<![\w'’])(?:[^\W\d_][\w\-]*\d[\w\-]*|\d+[^\W\d_][\w\-]*|[A-ZÀ-ÞА-ЯΑ-Ω][\w'’\-]+)")
_AT_START = re.compile(r"(?:^|[.!?…:;\n\"“(«*•|>#\-–—])\s*$")
_BEFORE = 8
"""So many characters tell whether a word begins a sentence."""
_CAPITALISED = (
    "i i'm i'll i've i'd ok am pm mr mrs ms dr january february march april may june july august september "
    "october november december monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun "
    "jul aug sep sept oct nov dec mon tue wed thu fri sat sun"
)
_NO_NAMES = frozenset(_CAPITALISED.split())
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|am|pm|h|m|s|ms|km|kg|g|gb|mb|c|f|x|k)", re.IGNORECASE)


@_remembered
def names(text: str) -> tuple[str, ...]:
    """The names in a text, each once: capitalised words inside of sentences, and ids such as A1.

    None of a German text, which capitalises every noun, but ids.
    """
    german = language(text) == "German"
    return tuple(dict.fromkeys(_names(text, with_words=not german)))


def _names(text: str, *, with_words: bool) -> Iterator[str]:
    for match in _NAME.finditer(text):
        name = match[0].rstrip("-'’")
        name = re.sub(r"['’]s$", "", name)
        if name.casefold() in _NO_NAMES or _ORDINAL.fullmatch(name):
            continue
        is_id = any(char.isdigit() for char in name)
        before = text[max(match.start() - _BEFORE, 0) : match.start()]
        if is_id or (with_words and len(name) > 1 and not _AT_START.search(before)):
            yield name
