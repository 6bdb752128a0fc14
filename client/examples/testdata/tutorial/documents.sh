mkdir files
cat > files/hut.md <<'END'
# Crow Hut handbook
## Getting there
From the valley station it is a walk of three hours, marked red and white. The bridge at the gorge is closed in winter.
## Opening months
The hut is open from June to October. In winter one room with eight beds stays unlocked.
## Prices
| bed | members | guests |
| --- | --- | --- |
| dormitory | 14 euros | 28 euros |
| room for two | 22 euros | 39 euros |
## Paying
Pay in the evening, in cash or by card. The card reader fails when the battery is low.
## Booking
Book by telephone until noon of the day before. Groups of more than ten write two weeks ahead.
## Cancelling
Cancelling is free until two days before arrival. After that we keep ten euros for each bed.
## Breakfast
Breakfast is from half past six to eight. Early climbers find a flask and bread from four o'clock.
## Dinner
Dinner is soup, a main dish and pudding at seven. Tell us in the morning if you eat no meat.
## Water
Tap water comes from the spring and is safe to drink. In a dry August it is turned off at night.
## Showers
A hot shower takes a token, three euros for four minutes. There are none when the solar tank is cold.
## Dogs
Dogs sleep in the wood store and cost five euros. They stay on the lead until the ridge, because of the sheep.
## Quiet hours
From ten in the evening to four in the morning the house is quiet and the generator is off.
## Electricity
Sockets work while the generator runs, from five to ten in the evening. Bring a power bank.
## Waste
Carry down what you carried up. There are no bins above the valley.
## Weather
The forecast hangs beside the door at six in the evening. Thunder comes from the west within half an hour.
## Accidents
Ring the bell three times and call 140. The stretcher stands behind the kitchen door.
## Boots
Leave boots on the rack in the porch and take a pair of felt slippers.
## Children
Children under six sleep free in their parents' bed. The climbing corner is behind the terrace.
END
