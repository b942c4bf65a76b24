"""Where single numbers stand, as whole numbers that compiled loops take for granted.

A number is named in `pair_columns`, found here, and computed in `pair_reading`.
"""

from __future__ import annotations

from keat.cooccurrence.pair_columns import place_of
from keat.cooccurrence.pair_records import SPANS

# Places among the single numbers of a source, after its two kernel sums …
SOURCE_AGE = place_of("age of the source's last event"), place_of("age of the last event to the source")
SOURCE_EVENTS = place_of("events of the source"), place_of("events to the source")
SOURCE_DESTINATIONS = place_of("destinations of the source")
SOURCE_RETURNS = place_of("share of returns to the same destination")
SOURCE_FIRSTS = place_of("share of new destinations")
SOURCE_USUAL_GAP = place_of("usual gap between the source's events")
SOURCE_LATENESS = place_of("how late the source is")
SOURCE_RUN = place_of("events in a row at the last destination")
SOURCE_USUAL_RUN = place_of("usual events in a row")
SOURCE_RUN_TO_USUAL = place_of("events in a row / usual")

SOURCE_MESSAGES = place_of("messages of the source")
SOURCE_LAST_MESSAGE = place_of("destinations of the source's last message")
SOURCE_USUAL_MESSAGE = place_of("usual destinations of the source's messages")

# … and among those of a pair, after its six. Two places are those of the source and of the candidate.
MET = place_of("met before")
RANK = place_of("1 / recency rank among the source's destinations")
MEETINGS = place_of("meetings")
AGE = place_of("age of the last meeting")
GAP = place_of("gap before the last meeting")
AGE_TO_GAP = place_of("age / that gap")
WHOSE = ("source's", "candidate's")
SINCE_MEETING = tuple(place_of(f"the {whose} events since the last meeting") for whose in WHOSE)
WEIGHTS = tuple(
    tuple(place_of(f"weight in the {whose} last {span:g} events") for span in SPANS) for whose in WHOSE
)
MET_BACK = place_of("met the other way round")
AGE_BACK = place_of("age of the last meeting the other way round")
LAST_TO_REACH_SOURCE = place_of("last to have reached the source")
CANDIDATE_AGE = place_of("age of the candidate's last event")
CANDIDATE_AGE_OUT = place_of("age of the candidate's last event as a source")
EVENTS_SINCE = place_of("events since the candidate's last")
EVENTS_TO = place_of("events to the candidate")
SOURCES = place_of("sources of the candidate")
LAST_REACHED_BY = place_of("last reached by this source")
RETURNING = place_of("share of those who return to the candidate")
NEW_ONES = place_of("share of the candidate's events that are first meetings")
SAME_AGAIN = place_of("share of the candidate's events by the same source as before")
NEXT_OF_SOURCE = place_of("where this source went next, last time")
NEXT_OF_ANYONE = place_of("where the last one went next")
ITSELF = place_of("is the source itself")
TWO_SUM, TWO_NUMBER = place_of("two-hop sum"), place_of("two-hop paths")
THREE_SUM, THREE_NUMBER = place_of("three-hop sum"), place_of("three-hop paths")
RANK_BACK = place_of("1 / recency rank among those who reached the source")
TO_ANSWER = place_of("events to answer")
TO_ANSWER_AGE = place_of("age of the first to answer")
LAST_OF_THE_TWO = place_of("was the last of the two to turn to the other")
SHARE_OF_THE_TWO = place_of("share of the source in the events of the two")
USUAL_GAP = place_of("usual gap between meetings")
GAP_SPREAD = place_of("spread of the gaps between meetings")
LATENESS = place_of("how late the next meeting is")
USUALLY_BETWEEN = place_of("the source's usual events between meetings")
SINCE_TO_USUAL = place_of("the source's events since the last meeting / usual")
BY_WEIGHT = place_of("1 / rank by weight among the source's latest destinations")
WEIGHT_SHARE = place_of("share of weight among the source's latest destinations")
GONE_ON = place_of("gone on to from the latest destinations, soon")  # eight numbers, as in `marks`
# Three numbers each, as in `newcomers`: sums of two widths, and the age of the last.
FIRST_MEETINGS = place_of("first meetings of the candidate, soon")
NEW_SOURCES = place_of("new sources that came to the candidate, soon")
MESSAGES_SINCE = place_of("the source's messages since the last meeting")
MESSAGE_WEIGHTS = tuple(place_of(f"weight in the source's last {span:g} messages") for span in SPANS)
MESSAGE_SIZE = place_of("destinations of the last message to the candidate")
USUAL_MESSAGE = place_of("usual destinations of messages to the candidate")
ADDRESSED = place_of("addressed with the source by the last who reached it")  # five numbers, as in `marks`
