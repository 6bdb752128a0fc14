package documents

// alphabet lists lower-case letters of a language that are not ASCII, the most frequent first. For a
// language in the Latin script these are the letters that it adds to ASCII.
type alphabet string

// Alphabets of the languages that single-byte encodings were made for.
const (
	german     alphabet = "üäöß"
	french     alphabet = "éèàêçùôâîûëïœæÿü"
	spanish    alphabet = "óíáéñúü"
	portuguese alphabet = "ãçáéíóêõâôàú"
	italian    alphabet = "èàùòìéóí"
	swedish    alphabet = "åäöéüà"
	danish     alphabet = "øåæéöü"
	dutch      alphabet = "ëéïöüèá"
	icelandic  alphabet = "áðíéóúþæöý"
	catalan    alphabet = "àèéíòóçúïü"
	polish     alphabet = "łąęóżśćńź"
	czech      alphabet = "íáéěčžřšýůúťďňó"
	slovak     alphabet = "áíčéšžýúľťôňďäóŕĺ"
	hungarian  alphabet = "áéöíóőüúű"
	southSlav  alphabet = "čšžćđ"
	romanian   alphabet = "ăîâșțşţ"
	turkish    alphabet = "ışüğçöâîû"
	lithuanian alphabet = "ėšžįųąčęū"
	latvian    alphabet = "āīēšņūļģžčķ"
	estonian   alphabet = "äõüöšž"
	russian    alphabet = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
	ukrainian  alphabet = "оаиінтверскулдмпзяьбгчйхцюжїєшщфґ"
	bulgarian  alphabet = "аиоетнрсвлкдпмзгяъубчцжщхшйфюь"
	serbian    alphabet = "аоиенрсјтукдвлмпзгбшчцњжљћхђфџ"
	greek      alphabet = "αοιετσνηυρπκμλςωίάγδόέήθχύβφώξζψϊϋΐΰ"
	hebrew     alphabet = "יוהלאתרבשמנםדקעפחטזסגכןצךףץ"
	arabic     alphabet = "الينموترعبدسكفحقجةهشخطصىزأضئغإؤءذظآثپچژگ"
)
