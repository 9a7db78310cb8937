"""Words that say nothing about a problem: talk about thinking, answering and the task, and what joins it."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that join others; English prose without them is a list of words.
JOINING = _words(
    """
    a about after all also an and any are as at be because been before but by can could did do does each
    every for from get gets give given gives had has have he her here him his how i if in into is it its
    just let like make makes may me more most much must my need needs no not now of off on one only or
    other our out over own put same she should since so some still such take takes than that the their
    them then there these they this those through thus to too under until up us use used using was we
    well were what when where which while who why will with would yes you your
    """
)

_TALK = _words(
    """
    able above absolutely actually again ai already alright am analyse analysis analyze analyzed answer
    answered answering answers apply approach arithmetic asked asking asks assistant aware based begin
    beginning being believe below best boxed brief briefly calculate calculated calculation calculations
    capital capitals careful carefully case check checked checking clear clearly comma commas common
    complete completed completely compute computed conclude conclusion confident confirm confirmed
    confirms consider considering constraint constraints correct correctly deduce deep deeply derivation
    derive describe detail details determine directly done easily easy else end english even every
    everything exact exactly examine explain explained explanation fact far figure final finally find
    finding fine finish finished first follow followed following follows format formatted found full
    fully goal good great guess guessing help hence hmm idea immediately important include includes
    including indeed information instantly instruction instructions internally intuition issue json keep
    keeping keyword keywords knew know knowledge known language last later latter lets letter letters
    look looking looks lowercase math mathematical mathematics maths matter maybe mean means memory
    mental mentally method mind moment moving necessary never next note nothing obey obeying obvious
    obviously ok okay once option order original output perfect perhaps phrase place plan please point
    possible precisely problem problems proceed process produce produced prompt properly provide
    provided question questions quick quickly quite read ready really reason reasoned reasoning recall
    remember reply request requested required requirement requirements respond response result results
    review right rule rules safe say says second see seems sense sentence sentences short show shown
    simple simply skip skipping solution solutions solve solved solving something start statement step
    steps stop straight straightforward summary sure surely tag tags task tell text therefore thing
    things think thinking thought thoughts time together trace trivial true trust try trying understand
    understanding uppercase user usual usually value verified verify very want way whatever whether
    whole without words work worked working works write writing written wrong yet
    """
)

# The same talk in the other languages that ReasonIF asks for.
_TALK_ELSEWHERE = _words(
    """
    voyons pensons réfléchissons étape par étapes à ce cette problème question réponse finale donner
    donne maintenant soigneusement est la le les une un de du des et je vais nous allons résoudre
    réfléchir il faut trouver donc voici bien alors puis d l ensuite attentivement dois répondre
    raisonnement correcte pensemos paso a por con cuidado este esta problema pregunta respuesta final
    dar doy ahora es el los una uno y voy vamos resolver hay que encontrar entonces aquí luego debo
    responder razonamiento correcta en se давайте подумаем шаг за шагом над этой этим этот задачей
    задача задачу вопрос вопросом ответ окончательный дать дам теперь внимательно это и я мы будем
    решать решим нужно найти итак вот хорошо потом затем рассуждение правильный на об о тщательно دعنا
    نفكر خطوة بخطوة في هذه هذا المسألة المشكلة السؤال الجواب الإجابة النهائية النهائي الآن بعناية هو هي
    و ثم سوف سأقدم نحل نحتاج إلى أن نجد إذن هنا حسنا بشكل صحيح صحيحة التفكير أفكر आइए चलो हम इस समस्या
    प्रश्न के बारे में कदम दर से सोचें सोचते हैं है और फिर अंतिम उत्तर दें देते अब ध्यान यह सही हल करें
    करते को का की मैं
    """
)
_TALK_HAN = frozenset(
    "让我们一步地思考这个问题然后给出最终答案好的来解决现在仔细想首先是正确接下推理过程请认真分析回"
)

_UNITS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen
"""
_TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety"
_OTHER_NUMBERS = "hundred thousand million half third quarter twice double doubled triple dozen pair both"

# English words for numbers, with their digits where one word is the number.
NUMBER_WORDS = (
    dict.fromkeys(_OTHER_NUMBERS.split(), "")
    | {word: str(10 * ten) for ten, word in enumerate(_TENS.split(), 1)}
    | {word: str(unit) for unit, word in enumerate(_UNITS.split())}
)

FILLER = JOINING | _TALK | _TALK_ELSEWHERE | _TALK_HAN
