"""What users say and what we answer, one table a language. All patterns meet case-folded text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """A room in one language."""

    pattern: str
    """Finds the room in what the user says."""
    phrase: str
    """How an answer speaks of it, with its preposition."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """Patterns of requests and templates of answers."""

    light: str
    temperature: str
    on: str
    off: str
    warmer: str
    colder: str
    everywhere: str
    there: str
    """The room of the request before."""
    light_is_on: str
    light_is_off: str
    temperature_is: str
    temperature_set: str
    refusal: str
    offer: str
    """What we say to all that we do not understand."""
    places: dict[str, Place] = field(default_factory=dict)

    def place(self, room: str) -> Place:
        """A room that the language has no word for keeps its English name."""
        return self.places.get(room) or Place(rf"\b{re.escape(room.casefold())}\b", f"in the {room}")


def normalized(text: str) -> str:
    """Case-folded, with composed accents."""
    return unicodedata.normalize("NFC", text).casefold()


def language_of(text: str) -> Language | None:
    """The language whose word for light or warmth is in a text."""
    return next((known for known in LANGUAGES if re.search(f"{known.light}|{known.temperature}", text)), None)


ENGLISH = Language(
    light=r"\blights?\b",
    temperature=r"\b(?:temperature|degrees|how warm|how cold|warmer|colder|cooler)\b",
    on=r"\b(?:turn|switch|put)\b.*\bon\b",
    off=r"\b(?:turn|switch|put)\b.*\b(?:off|out)\b",
    warmer=r"\bwarmer\b",
    colder=r"\b(?:colder|cooler)\b",
    everywhere=r"\b(?:everywhere|all|every)\b",
    there=r"\b(?:it|there)\b(?!.*\bin the\b)",
    light_is_on="The light {place} is on.",
    light_is_off="The light {place} is off.",
    temperature_is="It is {celsius:g} degrees {place}.",
    temperature_set="I set {celsius:g} degrees {place}.",
    refusal="I can only set {coldest} to {warmest} degrees. It stays at {celsius:g} degrees {place}.",
    offer="I control lights and temperatures {places}.",
)

GERMAN = Language(
    light=r"\blicht(?:er)?\b",
    temperature=r"\b(?:temperatur|grad|wie warm|wie kalt|wärmer|kälter|kühler)\b",
    on=r"\b(?:schalte?|mache?)\b.*\b(?:an|ein)\b",
    off=r"\b(?:schalte?|mache?)\b.*\baus\b",
    warmer=r"\bwärmer\b",
    colder=r"\b(?:kälter|kühler)\b",
    everywhere=r"\b(?:überall|alle|allen)\b",
    there=r"\b(?:dort|da)\b",
    light_is_on="Das Licht {place} ist an.",
    light_is_off="Das Licht {place} ist aus.",
    temperature_is="Es sind {celsius:g} Grad {place}.",
    temperature_set="Ich habe {celsius:g} Grad {place} eingestellt.",
    refusal="Ich kann nur {coldest} bis {warmest} Grad einstellen. Es bleiben {celsius:g} Grad {place}.",
    offer="Ich steuere Licht und Temperatur {places}.",
    places={
        "living room": Place(r"\bwohnzimmer\b", "im Wohnzimmer"),
        "bedroom": Place(r"\bschlafzimmer\b", "im Schlafzimmer"),
        "kitchen": Place(r"\bküche\b", "in der Küche"),
    },
)

RUSSIAN = Language(
    light=r"\bсвет\b",
    temperature=r"температур|градус|тепл|холодн",
    on=r"\bвключи",
    off=r"\bвыключи",
    warmer=r"\bтеплее\b",
    colder=r"\bхолоднее\b",
    everywhere=r"\b(?:везде|всех)\b",
    there=r"\bтам\b",
    light_is_on="Свет {place} включён.",
    light_is_off="Свет {place} выключен.",
    temperature_is="Температура {place}: {celsius:g} °C.",
    temperature_set="Я установил {place} {celsius:g} °C.",
    refusal="Можно установить от {coldest} до {warmest} °C. Температура {place} всё ещё {celsius:g} °C.",
    offer="Я управляю светом и температурой {places}.",
    places={
        "living room": Place(r"\bгостин", "в гостиной"),
        "bedroom": Place(r"\bспальн", "в спальне"),
        "kitchen": Place(r"\bкухн", "на кухне"),
    },
)

ARABIC = Language(
    light=r"الضوء|النور|الأضواء",
    temperature=r"الحرارة|درجة|أدفأ|أبرد",
    on=r"شغل|أشعل",
    off=r"أطفئ|اطفئ",
    warmer=r"أدفأ",
    colder=r"أبرد",
    everywhere=r"كل الغرف|كل مكان",
    there=r"هناك",
    light_is_on="تم تشغيل الضوء {place}.",
    light_is_off="تم إطفاء الضوء {place}.",
    temperature_is="درجة الحرارة {place} هي {celsius:g}.",
    temperature_set="تم ضبط درجة الحرارة {place} على {celsius:g}.",
    refusal="يمكنني ضبط الحرارة بين {coldest} و {warmest} درجة فقط. "
    "درجة الحرارة {place} ما زالت {celsius:g}.",
    offer="أتحكم في الضوء ودرجة الحرارة {places}.",
    places={
        "living room": Place(r"غرفة المعيشة", "في غرفة المعيشة"),
        "bedroom": Place(r"غرفة النوم", "في غرفة النوم"),
        "kitchen": Place(r"المطبخ", "في المطبخ"),
    },
)

JAPANESE = Language(
    light=r"電気|照明|ライト",
    temperature=r"温度|\d度|暖か|涼し",
    on=r"つけ|オン",
    off=r"消し|オフ",
    warmer=r"暖かく",
    colder=r"涼しく",
    everywhere=r"全部|すべて",
    there=r"そこ",
    light_is_on="{place}の照明をつけました。",
    light_is_off="{place}の照明を消しました。",
    temperature_is="{place}の温度は{celsius:g}度です。",
    temperature_set="{place}の温度を{celsius:g}度に設定しました。",
    refusal="設定できるのは{coldest}度から{warmest}度までです。{place}の温度は{celsius:g}度のままです。",
    offer="{places}の照明と温度を操作できます。",
    places={
        "living room": Place(r"リビング|居間", "リビング"),
        "bedroom": Place(r"寝室", "寝室"),
        "kitchen": Place(r"キッチン|台所", "キッチン"),
    },
)

THAI = Language(
    light=r"ไฟ",
    temperature=r"อุณหภูมิ|องศา|อุ่น|เย็น",
    on=r"เปิด",
    off=r"(?<!เ)ปิด",
    warmer=r"อุ่นขึ้น",
    colder=r"เย็นลง",
    everywhere=r"ทุกห้อง",
    there=r"ที่นั่น",
    light_is_on="เปิดไฟ{place}แล้ว",
    light_is_off="ปิดไฟ{place}แล้ว",
    temperature_is="อุณหภูมิ{place}คือ {celsius:g} องศา",
    temperature_set="ตั้งอุณหภูมิ{place}เป็น {celsius:g} องศาแล้ว",
    refusal="ตั้งได้เฉพาะ {coldest} ถึง {warmest} องศา อุณหภูมิ{place}ยังเป็น {celsius:g} องศา",
    offer="ควบคุมไฟและอุณหภูมิได้{places}",
    places={
        "living room": Place(r"ห้องนั่งเล่น", "ในห้องนั่งเล่น"),
        "bedroom": Place(r"ห้องนอน", "ในห้องนอน"),
        "kitchen": Place(r"ห้องครัว", "ในห้องครัว"),
    },
)

EMOJI = Language(
    light=r"💡",
    temperature=r"🌡",
    on=r"🔆",
    off=r"🌙",
    warmer=r"🔥",
    colder=r"❄",
    everywhere=r"🏠",
    there=r"👆",
    light_is_on="{place} 💡 🔆",
    light_is_off="{place} 💡 🌙",
    temperature_is="{place} 🌡️ {celsius:g} °C",
    temperature_set="{place} 🌡️ 👍 {celsius:g} °C",
    refusal="🚫 {coldest}-{warmest} °C! {place} 🌡️ {celsius:g} °C",
    offer="💡 🌡️ {places}",
    places={
        "living room": Place(r"🛋", "🛋️"),
        "bedroom": Place(r"🛏", "🛏️"),
        "kitchen": Place(r"🍳", "🍳"),
    },
)

LANGUAGES = (ENGLISH, GERMAN, RUSSIAN, ARABIC, JAPANESE, THAI, EMOJI)
