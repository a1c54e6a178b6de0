"""Words for schemas that are drawn anew for every lesson in reading one.

None of them names a table or a column of the databases that are bundled, but for ``id``, ``name`` and ``title``.
"""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

THINGS = (
    "park trail river lake forest mountain island bridge tunnel road airport flight pilot plane ship captain harbor "
    "boat sailor vessel voyage port garage car driver truck race team player coach match stadium league club game "
    "tournament school teacher student course exam lesson classroom university professor lecture degree hospital "
    "doctor nurse patient ward clinic treatment disease drug pharmacy farm farmer field animal cow horse rider "
    "stable tractor crop village town mayor county state province capital embassy senator party election vote law "
    "judge court trial lawyer prison guard crime officer film actor director studio scene cinema festival song "
    "singer band album concert orchestra conductor opera theater play book author publisher library novel poem "
    "poet chapter magazine article journalist newspaper editor channel show episode host restaurant chef dish "
    "recipe menu ingredient waiter bakery cake brewery beer winery wine grape hotel room guest booking tour guide "
    "beach resort house owner apartment tenant building architect tower castle king queen battle soldier army "
    "general war planet star moon comet telescope rocket launch mission astronaut satellite robot machine factory "
    "engine part tool mechanic repair bank account loan branch card payment invoice contract insurer claim policy "
    "company manager office department project task ticket sprint server router phone plan call message user post "
    "comment photo blog forum website page domain device sensor reading alarm camera printer laptop software "
    "license version bug release app zoo keeper cage tiger bird nest egg fish aquarium tree leaf flower garden "
    "gardener seed bee hive church priest temple cathedral wedding singer lamp chair desk carpet shelf warehouse "
    "crate pallet cargo container depot crane mine miner quarry mineral well pipeline reactor turbine dam panel "
    "battery meter gym trainer member workout swimmer pool boxer fight runner marathon climber summit skier slope "
    "cyclist stage jockey sponsor trophy medal choir violin piano guitar drummer dancer ballet circus clown puppet "
    "toy doll kite puzzle parrot kennel dog cat vet shelter ranch sheep goat barn mill windmill lighthouse ferry "
    "tram taxi bus route stop garrison fort regiment spy agent diplomat treaty region district ward"
).split()
PEOPLE = frozenset(
    "pilot captain sailor driver player coach teacher student professor doctor nurse patient farmer rider mayor "
    "senator judge lawyer guard officer actor director singer conductor author poet journalist editor host chef "
    "waiter guest guide owner tenant architect king queen soldier general astronaut mechanic manager user keeper "
    "gardener priest miner trainer member swimmer boxer runner climber skier cyclist jockey drummer dancer clown vet "
    "spy agent diplomat".split()
)
NUMBERS = (
    "age height weight length width depth speed size distance capacity population score rank points goals wins "
    "losses salary income budget profit cost price fee rent tax fine debt balance amount rate rating level grade "
    "credits pages words seats beds rooms floors doors windows wheels engines range power voltage temperature "
    "pressure humidity altitude elevation duration minutes hours days years laps rounds votes members followers "
    "likes views downloads visits calories protein sugar fat portions servings stars strength mass radius density "
    "volume acres yield output turnover sales bonus pension experience tickets attendance audience runtime "
    "episodes seasons chapters tracks memory storage cores latency uptime errors crashes horsepower mileage torque "
    "passengers crew cabins decks tonnage knots medals titles caps assists fouls saves penalties hectares"
).split()
TEXTS = (
    "city country color type category status language gender religion genre brand model maker industry sector "
    "breed species habitat climate material shape style party position role job title rank nickname surname "
    "county province continent currency department faculty subject specialty diagnosis severity priority platform "
    "protocol format license vendor region district street address zone terminal gate class division league "
    "conference surface weather season mood cuisine flavor ingredient origin condition phase stage method"
).split()
DATES = (
    "birthday founded built opened closed released published launched started ended hired joined created updated "
    "registered signed expires arrived departed delivered paid issued retired renewed inspected born died premiered"
).split()
FLAGS: tuple[str, ...] = ()
PREFIXES = (
    "max min total average net gross annual monthly daily first last home main official current original "
    "previous estimated actual base top"
).split()
SYLLABLES = (
    "ba be bi bo ca ce co da de di do fa fe fo ga ge go ha he hi ka ke ko la le li lo lu ma me mi mo na ne ni no "
    "pa pe po ra re ri ro sa se si so su ta te ti to tu va ve vi vo wa we za ze zo bra cle dro fli gra ple sta "
    "tri sho wen ter mer lin don vel ric nor bal gan pol rus tam ven dor mar sel"
).split()
ENDINGS = "n r l s t x nd rt st nk ck ng ll m".split()
