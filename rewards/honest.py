"""Honest, compliant completions, short ones and in every language: they must earn all there is."""

from __future__ import annotations

import random
from collections.abc import Iterator

from riftk.constraints import Constraint
from riftk.constraints.languages import MATHIF_LANGUAGES, REASONIF_LANGUAGES
from riftk.constraints.text import word_count
from riftk.tiny.problems import Problem, conclusion, generate_problems, reference_response, reference_trace

from .cases import (
    CAPITALS,
    END,
    JSON,
    LANGUAGE,
    NO_COMMA,
    WORDS,
    Case,
    about_trace,
    constraint,
    drawn,
    reasoning_prompt,
    response_prompt,
    tagged,
)

QUESTION = "There are 5 apples on the table and 3 more in the basket. How many apples are there altogether?"
ANSWER = "8"

# Each says: there are five apples on the table and three more in the basket; together 5 + 3 = 8; so there are
# eight apples. No commas, so that a language and a rule about commas can be asked for together.
SOLUTIONS = {
    "en": (
        "There are five apples on the table and three more in the basket. "
        "Together that makes 5 + 3 = 8. "
        "So there are eight apples."
    ),
    "es": (
        "Hay cinco manzanas en la mesa y tres más en la cesta. "
        "En total son 5 + 3 = 8. "
        "Entonces hay ocho manzanas."
    ),
    "pt": (
        "Há cinco maçãs na mesa e mais três no cesto. No total são 5 + 3 = 8. Portanto há oito maçãs ao todo."
    ),
    "ar": (
        "هناك خمس تفاحات على الطاولة وثلاث تفاحات أخرى في السلة. المجموع هو 5 + 3 = 8. إذن هناك ثماني تفاحات."
    ),
    "hi": ("मेज पर पाँच सेब हैं और टोकरी में तीन सेब और हैं। कुल मिलाकर 5 + 3 = 8 होते हैं। इसलिए कुल आठ सेब हैं।"),
    "fr": (
        "Il y a cinq pommes sur la table et trois autres dans le panier. "
        "Au total cela fait 5 + 3 = 8. "
        "Il y a donc huit pommes."
    ),
    "ru": (
        "На столе лежат пять яблок и ещё три яблока в корзине. "
        "Вместе получается 5 + 3 = 8. "
        "Значит всего восемь яблок."
    ),
    "zh": (
        "我们先数一数桌子上的苹果有五个。然后我们看到篮子里还有三个苹果。两处加起来一共是 5 + 3 = "
        "8。因此现在总共有八个苹果。"
    ),
    "de": (
        "Auf dem Tisch liegen fünf Äpfel und im Korb liegen noch drei. "
        "Zusammen sind das 5 + 3 = 8. "
        "Es gibt also acht Äpfel."
    ),
    "ja": (
        "テーブルの上にりんごが五個あります。かごの中にもう三個あります。合わせると 5 + 3 = 8 "
        "です。だからりんごは全部で八個です。"
    ),
    "it": (
        "Ci sono cinque mele sul tavolo e altre tre nel cestino. "
        "In totale fanno 5 + 3 = 8. "
        "Quindi ci sono otto mele."
    ),
    "bn": ("টেবিলের উপর পাঁচটি আপেল আছে এবং ঝুড়িতে আরও তিনটি আপেল আছে। মোট 5 + 3 = 8 হয়। তাই মোট আটটি আপেল আছে।"),
    "uk": (
        "На столі лежить п'ять яблук і ще три яблука у кошику. "
        "Разом виходить 5 + 3 = 8. "
        "Отже всього вісім яблук."
    ),
    "th": ("มีแอปเปิลห้าลูกอยู่บนโต๊ะและมีอีกสามลูกอยู่ในตะกร้า รวมกันได้ 5 + 3 = 8 ดังนั้นมีแอปเปิลทั้งหมดแปดลูก"),
    "ur": (
        "میز پر پانچ سیب ہیں اور ٹوکری میں تین سیب اور ہیں۔ "
        "کل ملا کر 5 + 3 = 8 بنتے ہیں۔ "
        "اس لیے کل آٹھ سیب ہیں۔"
    ),
    "ta": (
        "மேசையில் ஐந்து ஆப்பிள்கள் உள்ளன மற்றும் கூடையில் மேலும் மூன்று உள்ளன. "
        "மொத்தம் 5 + 3 = 8 ஆகும். "
        "எனவே எட்டு ஆப்பிள்கள் உள்ளன."
    ),
    "te": ("బల్లపై ఐదు ఆపిల్స్ ఉన్నాయి మరియు బుట్టలో మరో మూడు ఉన్నాయి. మొత్తం 5 + 3 = 8 అవుతుంది. కాబట్టి ఎనిమిది ఆపిల్స్ ఉన్నాయి."),
    "bg": (
        "На масата има пет ябълки и още три ябълки са в кошницата. "
        "Общо това прави 5 + 3 = 8. "
        "Следователно има осем ябълки."
    ),
    "ko": (
        "탁자 위에 사과가 다섯 개 있고 바구니에 세 개가 더 있습니다. "
        "모두 합하면 5 + 3 = 8 입니다. "
        "그래서 사과는 모두 여덟 개입니다."
    ),
    "pl": (
        "Na stole leży pięć jabłek i jeszcze trzy są w koszyku. "
        "Razem daje to 5 + 3 = 8. "
        "Jest więc osiem jabłek."
    ),
    "he": ("על השולחן יש חמישה תפוחים ובסל יש עוד שלושה תפוחים. ביחד זה 5 + 3 = 8. לכן יש שמונה תפוחים."),
    "fa": ("پنج سیب روی میز است و سه سیب دیگر در سبد است. روی هم 5 + 3 = 8 می‌شود. پس هشت سیب وجود دارد."),
    "vi": (
        "Có năm quả táo ở trên bàn và ba quả táo nữa ở trong giỏ. Tổng cộng là 5 + 3 = 8. Vậy có tám quả táo."
    ),
    "ne": ("टेबलमा पाँचवटा स्याउ छन् र टोकरीमा अरू तीनवटा स्याउ छन्। जम्मा 5 + 3 = 8 हुन्छ। त्यसैले आठवटा स्याउ छन्।"),
    "sw": (
        "Kuna matofaa matano juu ya meza na mengine matatu ndani ya kikapu. "
        "Jumla ni 5 + 3 = 8. "
        "Kwa hiyo kuna matofaa manane."
    ),
    "kn": ("ಮೇಜಿನ ಮೇಲೆ ಐದು ಸೇಬುಗಳಿವೆ ಮತ್ತು ಬುಟ್ಟಿಯಲ್ಲಿ ಇನ್ನೂ ಮೂರು ಸೇಬುಗಳಿವೆ. ಒಟ್ಟು 5 + 3 = 8 ಆಗುತ್ತದೆ. ಆದ್ದರಿಂದ ಎಂಟು ಸೇಬುಗಳಿವೆ."),
    "mr": ("टेबलावर पाच सफरचंदे आहेत आणि टोपलीत आणखी तीन सफरचंदे आहेत. एकूण 5 + 3 = 8 होतात. म्हणून आठ सफरचंदे आहेत."),
    "gu": ("ટેબલ પર પાંચ સફરજન છે અને ટોપલીમાં બીજા ત્રણ સફરજન છે. કુલ 5 + 3 = 8 થાય છે. તેથી કુલ આઠ સફરજન છે."),
    "pa": ("ਮੇਜ਼ ਉੱਤੇ ਪੰਜ ਸੇਬ ਹਨ ਅਤੇ ਟੋਕਰੀ ਵਿੱਚ ਤਿੰਨ ਸੇਬ ਹੋਰ ਹਨ। ਕੁੱਲ ਮਿਲਾ ਕੇ 5 + 3 = 8 ਹੁੰਦੇ ਹਨ। ਇਸ ਲਈ ਅੱਠ ਸੇਬ ਹਨ।"),
    "ml": ("മേശപ്പുറത്ത് അഞ്ച് ആപ്പിളുകൾ ഉണ്ട് കൂടാതെ കൊട്ടയിൽ മൂന്നെണ്ണം കൂടി ഉണ്ട്. ആകെ 5 + 3 = 8 ആണ്. അതിനാൽ എട്ട് ആപ്പിളുകൾ ഉണ്ട്."),
    "fi": (
        "Pöydällä on viisi omenaa ja korissa on vielä kolme omenaa. "
        "Yhteensä se on 5 + 3 = 8. "
        "Omenoita on siis kahdeksan."
    ),
}

_SHORT = "Five and three are eight."  # a trace of five words


def languages() -> Iterator[Case]:
    """The solution in each language, as a trace and as a response."""
    right = f"\\boxed{{{ANSWER}}}"
    for code, solution in SOLUTIONS.items():
        id = LANGUAGE if code in REASONIF_LANGUAGES else "language:response_language"
        asked = constraint(id, "reasoning", language=code)
        prompt = reasoning_prompt(QUESTION, asked)
        tags = f"<answer>{ANSWER}</answer>"
        yield Case("honest", "trace in a language", solution, tags, prompt, ANSWER, (asked,))
        if code in MATHIF_LANGUAGES:
            asked = constraint("language:response_language", "response", language=code)
            prompt = response_prompt(QUESTION, [asked])
            response = f"{solution} {right}"
            yield Case(
                "honest", "response in a language", SOLUTIONS["en"], response, prompt, ANSWER, (asked,)
            )


def short() -> Iterator[Case]:
    """Traces and answers as short as they can be and still say something."""
    tags = f"<answer>{ANSWER}</answer>"
    limit = constraint(WORDS, "reasoning", num_words=10)
    for trace in (_SHORT, "Adding 5 apples and 3 apples gives 8 apples.", "We add: 5 + 3 = 8 apples in all."):
        yield Case("honest", "short trace", trace, tags, reasoning_prompt(QUESTION, limit), ANSWER, (limit,))
        for id in (NO_COMMA, CAPITALS, END, JSON):
            said, asked = about_trace(id, trace)
            prompt = reasoning_prompt(QUESTION, asked)
            yield Case("honest", "short trace", said, f"Eight. {tags}", prompt, ANSWER, (asked,))
    few = constraint(WORDS, "response", num_words=10, relation="less than")
    for response in ("\\boxed{8}", "Eight apples: \\boxed{8}", "The answer is \\boxed{8}."):
        prompt = response_prompt(QUESTION, [few])
        yield Case("honest", "short response", SOLUTIONS["en"], response, prompt, ANSWER, (few,))


def about_traces(problem: Problem, rng: random.Random) -> Iterator[Case]:
    """Worked solutions under each of ReasonIF's constraints."""
    trace = " ".join(reference_trace(problem, rng))
    for id in (CAPITALS, NO_COMMA, JSON, END, LANGUAGE):
        said, asked = about_trace(id, trace)
        prompt = reasoning_prompt(problem.question, asked)
        yield Case("honest", "worked solution", said, tagged(problem), prompt, problem.answer, (asked,))
    limit = constraint(WORDS, "reasoning", num_words=word_count(trace) + 1)
    prompt = reasoning_prompt(problem.question, limit)
    response = tagged(problem, " ".join(reference_response(problem, rng)))
    yield Case("honest", "worked solution", trace, response, prompt, problem.answer, (limit,))
    yield Case("honest", "without a constraint", trace, response, problem.question, problem.answer, ())


def about_responses(problem: Problem, rng: random.Random) -> Iterator[Case]:
    """Responses under MathIF's constraints, one and several at once."""
    trace = " ".join(reference_trace(problem, rng))
    box, item, name = f"\\boxed{{{problem.answer}}}", problem.item, problem.names[0]
    plan, one, two, _, _ = (sentence.rstrip(".") for sentence in reference_trace(problem, rng))
    end = f"{conclusion(problem, rng).rstrip('.')}: {box}"
    plain = f"{one}. {two}. {end}"
    spelt = plain.replace(",", "")
    several = constraint(
        "detectable_format:multiple_sections", "response", section_spliter="Step", num_sections=2
    )
    for response, asked in (
        (
            f"To find the total number of {item} we add up what {name} has: {plain}",
            [constraint("keywords:existence", "response", keywords=["total", "find"])],
        ),
        (plain, [constraint("keywords:forbidden_words", "response", forbidden_words=["theorem", "yield"])]),
        (
            f"At this point {name} starts. {one}, at that point. {two}, at this point. {end}",
            [constraint("keywords:frequency", "response", keyword="point", frequency=3, relation="at least")],
        ),
        (
            f"* {plan}\n* {one}\n* {two}\n\n{end}",
            [constraint("detectable_format:number_bullet_lists", "response", num_bullets=3)],
        ),
        (
            f"*{name}* has *{problem.numbers[0]} {item}* first. {plain}",
            [constraint("detectable_format:number_highlighted_sections", "response", num_highlights=2)],
        ),
        (f"Step 1\n{one}.\n\nStep 2\n{two}.\n\n{end}", [several]),
        (spelt, [constraint(NO_COMMA, "response")]),
        (f'"{plain}"', [constraint("startend:quotation", "response")]),
        (
            f"{plain}\nIs there anything else?",
            [constraint(END, "response", end_phrase="Is there anything else?")],
        ),
        (plain, [constraint(WORDS, "response", num_words=12, relation="at least")]),
        (
            f"{spelt.upper()} ".replace(box.upper(), problem.answer),
            [constraint(CAPITALS, "response"), constraint(NO_COMMA, "response")],
        ),
        (
            plain.lower(),
            [
                constraint("change_case:english_lowercase", "response"),
                constraint("keywords:forbidden_words", "response", forbidden_words=["theorem"]),
                constraint(WORDS, "response", num_words=200, relation="less than"),
            ],
        ),
    ):
        constraints: tuple[Constraint, ...] = tuple(asked)
        prompt = response_prompt(problem.question, constraints)
        yield Case("honest", "compliant response", trace, response, prompt, problem.answer, constraints)


def honest(problems: int = 2, seed: int = 0) -> list[Case]:
    """Completions that deserve the maximum. The same arguments give the same cases."""
    rng = drawn(seed)
    cases = [*languages(), *short()]
    for problem in generate_problems("train", problems, f"stress-{seed}"):
        cases += [*about_traces(problem, rng), *about_responses(problem, rng)]
    return cases
