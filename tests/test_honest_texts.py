"""Short honest completions that the corpus of `riftk stress` does not hold: guards must let them pass."""

from __future__ import annotations

import pytest

from riftk.constraints.languages import REASONIF_LANGUAGES
from riftk.rewards import Scoring, score
from riftk.rewards.cases import (
    CAPITALS,
    END,
    JSON,
    LANGUAGE,
    NO_COMMA,
    WORDS,
    about_trace,
    constraint,
    reasoning_prompt,
    response_prompt,
)

BAKER = "A baker has 12 rolls, sells 7 of them and bakes 4 more. How many rolls does he have then?"

# He has 12 rolls and sells 7, so 5 are left; then he bakes 4 more, which makes 9.
ROLLS = {
    "en": "He starts with 12 rolls and sells 7 so 5 are left. Then 5 and 4 make 9.",
    "es": "El panadero tiene 12 panecillos y vende 7 así que le quedan 5. Luego hornea 4 más: 5 + 4 = 9.",
    "pt": "O padeiro tem 12 pãezinhos e vende 7 então sobram 5. Depois assa mais 4 e fica com 9.",
    "ar": "لدى الخباز 12 رغيفا ويبيع 7 منها فيبقى 5. ثم يخبز 4 أخرى فيصبح لديه 9.",
    "hi": ("बेकर के पास 12 रोल हैं और वह 7 बेच देता है तो 5 बचते हैं। फिर वह 4 और बनाता है तो 9 हो जाते हैं।"),
    "fr": (
        "Le boulanger a 12 petits pains et en vend 7 donc il en reste 5. Puis il en cuit 4 de "
        "plus ce qui fait 9."
    ),
    "ru": "У пекаря 12 булочек и он продаёт 7 поэтому остаётся 5. Потом он печёт ещё 4 и получается 9.",
    "zh": (
        "我们知道面包师有 12 个面包并且卖掉了 7 个面包所以还剩下 5 个。然后他又烤了 4 "
        "个所以现在一共有 9 个面包。"
    ),
    "de": "Der Bäcker hat 12 Brötchen und verkauft 7 also bleiben 5. Dann backt er noch 4 und hat 9.",
    "ja": (
        "パン屋さんは最初に12個のパンを持っていて7個を売るので5個残ります。そのあと4個焼くので全部で9個になります。"
    ),
    "it": "Il fornaio ha 12 panini e ne vende 7 quindi ne restano 5. Poi ne cuoce altri 4 e ne ha 9.",
    "bn": ("বেকারের কাছে ১২টি রোল আছে এবং সে ৭টি বিক্রি করে তাই ৫টি থাকে। তারপর সে আরও ৪টি বানায় তাই মোট ৯টি হয়।"),
    "uk": "У пекаря 12 булочок і він продає 7 тому лишається 5. Потім він пече ще 4 і стає 9.",
    "th": ("คนทำขนมปังมีขนมปัง 12 ก้อนและขายไป 7 ก้อนจึงเหลือ 5 ก้อน จากนั้นเขาอบเพิ่มอีก 4 ก้อนจึงมี 9 ก้อน"),
    "ur": (
        "نان بائی کے پاس 12 رول ہیں اور وہ 7 بیچ دیتا ہے تو 5 بچتے ہیں۔ پھر وہ 4 اور بناتا ہے "
        "تو 9 ہو جاتے ہیں۔"
    ),
    "ta": ("பேக்கரிடம் 12 ரொட்டிகள் உள்ளன அவர் 7 ஐ விற்கிறார் எனவே 5 மீதம் உள்ளன. பிறகு மேலும் 4 சுடுகிறார் எனவே 9 ஆகும்."),
    "te": ("బేకర్ దగ్గర 12 రొట్టెలు ఉన్నాయి మరియు 7 అమ్ముతాడు కాబట్టి 5 మిగులుతాయి. తరువాత మరో 4 చేస్తాడు కాబట్టి 9 అవుతాయి."),
    "bg": "Пекарят има 12 кифлички и продава 7 така че остават 5. После изпича още 4 и стават 9.",
    "ko": (
        "제빵사는 빵 12개를 가지고 있고 7개를 팔아서 5개가 남습니다. 그다음 4개를 더 구워서 "
        "모두 9개가 됩니다."
    ),
    "pl": "Piekarz ma 12 bułek i sprzedaje 7 więc zostaje 5. Potem piecze jeszcze 4 i ma 9.",
    "he": "לאופה יש 12 לחמניות והוא מוכר 7 ולכן נשארו 5. אחר כך הוא אופה עוד 4 ויש לו 9.",
    "fa": (
        "نانوا ۱۲ نان دارد و ۷ تا را می\u200cفروشد پس ۵ تا می\u200cماند. سپس ۴ تای دیگر "
        "می\u200cپزد و ۹ تا دارد."
    ),
    "vi": "Người thợ có 12 ổ bánh và bán 7 ổ nên còn 5 ổ. Sau đó anh ấy nướng thêm 4 ổ và có 9 ổ.",
    "ne": (
        "बेकरसँग 12 वटा रोल छन् र उसले 7 वटा बेच्छ त्यसैले 5 वटा बाँकी रहन्छन्। त्यसपछि उसले 4 वटा थप बनाउँछ र 9 वटा हुन्छन्।"
    ),
    "sw": "Mwokaji ana mikate 12 na anauza 7 kwa hiyo inabaki 5. Kisha anaoka mingine 4 na anakuwa na 9.",
    "kn": (
        "ಬೇಕರ್ ಬಳಿ 12 ರೋಲ್\u200cಗಳಿವೆ ಮತ್ತು ಅವನು 7 ಮಾರುತ್ತಾನೆ ಆದ್ದರಿಂದ 5 ಉಳಿಯುತ್ತವೆ. ನಂತರ ಇನ್ನೂ 4 ಮಾಡುತ್ತಾನೆ ಆದ್ದರಿಂದ 9 ಆಗುತ್ತವೆ."
    ),
    "mr": "बेकरकडे 12 रोल आहेत आणि तो 7 विकतो म्हणून 5 उरतात. मग तो आणखी 4 बनवतो म्हणून 9 होतात.",
    "gu": "બેકર પાસે 12 રોલ છે અને તે 7 વેચે છે તેથી 5 બાકી રહે છે. પછી તે 4 વધુ બનાવે છે તેથી 9 થાય છે.",
    "pa": ("ਬੇਕਰ ਕੋਲ 12 ਰੋਲ ਹਨ ਅਤੇ ਉਹ 7 ਵੇਚ ਦਿੰਦਾ ਹੈ ਇਸ ਲਈ 5 ਬਚਦੇ ਹਨ। ਫਿਰ ਉਹ 4 ਹੋਰ ਬਣਾਉਂਦਾ ਹੈ ਤਾਂ 9 ਹੋ ਜਾਂਦੇ ਹਨ।"),
    "ml": (
        "ബേക്കറുടെ കൈയിൽ 12 റോളുകൾ ഉണ്ട് അയാൾ 7 എണ്ണം വിൽക്കുന്നു അതിനാൽ 5 ബാക്കി. പിന്നെ 4 എണ്ണം കൂടി ഉണ്ടാക്കുന്നു അതിനാൽ 9 ആകും."
    ),
    "fi": (
        "Leipurilla on 12 sämpylää ja hän myy 7 joten jäljelle jää 5. Sitten hän leipoo vielä "
        "4 joten niitä on 9."
    ),
}

# Question, gold answer, answer type, trace.
PROBLEMS = [
    ('What is 15% of 80?', '12', 'number',
     'Ten percent of 80 is 8 and five percent is 4 so the sum is 12.'),
    ('What is the largest prime below 20?', '19', 'number',
     '18 is even but 19 has no divisor so it is prime.'),
    ('Compute 3 - 8.', '-5', 'number',
     'We go 8 down from 3: three down to zero then five more below zero. 3 - 8 = -5.'),
    ('Which is larger, 17 or 23?', '23', 'number',
     'Comparing both numbers 23 is larger than 17.'),
    ('Tom has 5 apples and gets 0 more. How many has he?', '5', 'number',
     'Adding nothing to five apples leaves Tom with 5 apples.'),
    ('How many letters are in the word strawberry?', '10', 'number',
     'Spelling strawberry gives ten letters in all: s t r a w b e r r y.'),
    ('Solve x^2 = 49 for positive x.', '7', 'number',
     'Taking the square root of 49 we get x = 7.'),
    ('Factor x^2 - y^2.', '(x-y)(x+y)', 'math',
     'x^2 - y^2 = x^2 + xy - xy - y^2 = x(x + y) - y(x + y) = (x - y)(x + y)'),
    ('If a + b = 10 and a - b = 2, what is a?', '6', 'number',
     'Adding the two equations gives 2a = 12 so a = 6.'),
    ('What is the capital of France? A. Rome B. Paris C. Berlin D. Madrid', 'B', 'choice',
     'The capital of France is Paris and that is option B.'),
    ('A triangle has sides 3, 4 and 5. What is its area?', '6', 'number',
     'It is a right triangle because 9 + 16 = 25 and so the area is half of 3 times 4.'),
    ('Evaluate the sum 1+2+3+...+10.', '55', 'number',
     'Pairing first and last gives 5 pairs of 11 which is 55.'),
    ('How many even numbers are between 1 and 9?', '4', 'number',
     'The even ones are 2 and 4 and 6 and 8.'),
    ('A car drives 60 km in 1.5 hours. What is its speed in km/h?', '40', 'number',
     'Speed is distance over time: 60 / 1.5 = 40.'),
    ('Five minus four?', '1', 'number',
     'Five minus four leaves one.'),
    ('Find the value of $\\frac{1}{2}+\\frac{1}{3}$.', '\\frac{5}{6}', 'math',
     'Using sixths: $\\frac{3}{6}+\\frac{2}{6}=\\frac{5}{6}$ as the common denominator is six.'),
]  # fmt: skip

# Constraint on the response, its arguments, a response to the baker's question.
RESPONSES = [
    ('detectable_format:number_bullet_lists', {'num_bullets': 3},
     '* Start: 12\n* Sold: 7, so 5 left\n* Baked: 4\n\nSo \\boxed{9}.'),
    ('detectable_format:number_bullet_lists', {'num_bullets': 2},
     '- He sells 7, and 5 stay.\n- He bakes 4, so there are nine.\n\n\\boxed{9}'),
    ('detectable_format:number_highlighted_sections', {'num_highlights': 3},
     '**Step 1:** 12 - 7 = 5\n**Step 2:** 5 + 4 = 9\n**Answer:** \\boxed{9}'),
    ('detectable_format:number_highlighted_sections', {'num_highlights': 2},
     'He has *five* and then *nine* rolls: \\boxed{9}'),
    ('detectable_format:multiple_sections', {'section_spliter': 'Section', 'num_sections': 2},
     'Section 1\nSelling leaves 12 - 7 = 5.\n\nSection 2\nBaking makes 5 + 4 = \\boxed{9}.'),
    ('keywords:existence', {'keywords': ['total', 'number', 'find']},
     'To find the total number of rolls we compute 12 - 7 + 4 = \\boxed{9}.'),
    ('keywords:frequency', {'keyword': 'rolls', 'frequency': 3, 'relation': 'at least'},
     'From 12 rolls he sells 7 rolls and bakes 4 rolls, which leaves \\boxed{9}.'),
    ('keywords:forbidden_words', {'forbidden_words': ['theorem', 'number']},
     'It is well-known arithmetic: 12 - 7 + 4 = \\boxed{9}.'),
    ('change_case:capital_word_frequency', {'capital_frequency': 5, 'capital_relation': 'at least'},
     'THE ANSWER IS NINE ROLLS BECAUSE 12 - 7 + 4 = \\boxed{9}.'),
    ('startend:quotation', {},
     '"He has \\boxed{9} rolls."'),
    ('change_case:english_lowercase', {},
     'he has 12 - 7 + 4 rolls in the end and that makes \\boxed{9}.'),
    (CAPITALS, {},
     'HE HAS 12 - 7 + 4 ROLLS IN THE END AND THAT MAKES 9.'),
    (NO_COMMA, {},
     '$12 - 7 = 5$\n$5 + 4 = 9$\n\nAnswer: \\boxed{9}'),
    (NO_COMMA, {},
     'The 50% mark does not matter here. The final answer is \\boxed{9}.'),
    (WORDS, {'num_words': 40, 'relation': 'at least'},
     "At the beginning the baker has twelve rolls on his shelf. During the day he sells "
     "seven of them, so only five of the rolls remain. After that he bakes four fresh ones, "
     "and when we add these to the five we see that he has \\boxed{9} rolls."),
]  # fmt: skip


def earned(trace: str, response: str, question: str, answer: str, asked=(), answer_type: str = "number"):
    row = {"answer": answer, "answer_type": answer_type, "constraints": [one.to_dict() for one in asked]}
    return score(f"<think>\n{trace}\n</think>\n\n{response}", row, Scoring(think="tags"), prompt=question)


@pytest.mark.parametrize("code", ROLLS)
def test_a_solution_in_every_language(code):
    id = LANGUAGE if code in REASONIF_LANGUAGES else "language:response_language"
    asked = constraint(id, "reasoning", language=code)
    found = earned(ROLLS[code], "<answer>9</answer>", reasoning_prompt(BAKER, asked), "9", (asked,))
    assert found.score == 1.0, found
    if code != "zh":  # MathIF never asks for Chinese
        asked = constraint("language:response_language", "response", language=code)
        response = f"{ROLLS[code]} \\boxed{{9}}"
        found = earned(ROLLS["en"], response, response_prompt(BAKER, [asked]), "9", (asked,))
        assert found.score == 1.0, found


@pytest.mark.parametrize(("question", "answer", "answer_type", "trace"), PROBLEMS)
def test_a_short_solution_of_every_kind(question, answer, answer_type, trace):
    for id in (NO_COMMA, CAPITALS, JSON, END):
        said, asked = about_trace(id, trace)
        prompt = reasoning_prompt(question, asked)
        found = earned(said, f"<answer>{answer}</answer>", prompt, answer, (asked,), answer_type)
        assert not found.guard, found
        assert found.score == 1.0 or id == CAPITALS, found  # a formula alone is in no language


@pytest.mark.parametrize(("id", "args", "response"), RESPONSES)
def test_a_response_that_has_what_was_asked_for(id, args, response):
    asked = constraint(id, "response", **args)
    found = earned(ROLLS["en"], response, response_prompt(BAKER, [asked]), "9", (asked,))
    assert found.score == 1.0, found


def test_a_search_through_all_cases_is_no_loop():
    asked = constraint(NO_COMMA, "reasoning")
    question = "How many positive perfect squares are at most 200?"
    trace = (
        " ".join(f"For n = {n} we get {n}*{n} = {n * n}." for n in range(1, 15)) + " That makes 14 squares."
    )
    found = earned(trace, "<answer>14</answer>", reasoning_prompt(question, asked), "14", (asked,))
    assert found.score == 1.0, found
    question = "Find the only prime between 90 and 100."
    checks = " ".join(f"97 = {d} * {97 // d} + {97 % d} so {d} does not divide 97." for d in (2, 3, 5, 7))
    found = earned(f"{checks} It is prime.", "<answer>97</answer>", question, "97")
    assert found.score == 1.0, found
