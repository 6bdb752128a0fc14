import java.nio.file.*;
import java.util.*;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.cjk.*;
import org.apache.lucene.analysis.core.LowerCaseFilter;
import org.apache.lucene.analysis.core.StopFilter;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tr.*;
import org.apache.lucene.analysis.util.ElisionFilter;

/**
 * Prints the terms of the texts in texts.json, one language a line, by Lucene's parts: the standard tokenizer, lower case,
 * elisions, the language's stop words and Snowball; and, for Chinese, Japanese and Korean, by the parts of
 * CJKAnalyzer, with single characters.
 *
 * mvn -q -f research/bench/lucene/pom.xml dependency:copy-dependencies -DoutputDirectory=/tmp/lucene
 * java -cp '/tmp/lucene/*' bm25/forms/testdata/languages/Terms.java bm25/forms/testdata/languages/texts.json
 */
class Terms {
  public static void main(String[] args) throws Exception {
    Map<String, String> stemmers = new LinkedHashMap<>();
    Map<String, CharArraySet> stop = new HashMap<>();
    Map<String, CharArraySet> elided = new HashMap<>();
    add(stemmers, stop, "de", "German2", org.apache.lucene.analysis.de.GermanAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "fr", "French", org.apache.lucene.analysis.fr.FrenchAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "es", "Spanish", org.apache.lucene.analysis.es.SpanishAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "it", "Italian", org.apache.lucene.analysis.it.ItalianAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "pt", "Portuguese", org.apache.lucene.analysis.pt.PortugueseAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "nl", "Dutch", org.apache.lucene.analysis.nl.DutchAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "sv", "Swedish", org.apache.lucene.analysis.sv.SwedishAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "da", "Danish", org.apache.lucene.analysis.da.DanishAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "no", "Norwegian", org.apache.lucene.analysis.no.NorwegianAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "fi", "Finnish", org.apache.lucene.analysis.fi.FinnishAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "hu", "Hungarian", org.apache.lucene.analysis.hu.HungarianAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "ro", "Romanian", org.apache.lucene.analysis.ro.RomanianAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "ru", "Russian", org.apache.lucene.analysis.ru.RussianAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "tr", "Turkish", TurkishAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "ar", "Arabic", org.apache.lucene.analysis.ar.ArabicAnalyzer.getDefaultStopSet());
    add(stemmers, stop, "ga", "Irish", org.apache.lucene.analysis.ga.IrishAnalyzer.getDefaultStopSet());
    elided.put("fr", org.apache.lucene.analysis.fr.FrenchAnalyzer.DEFAULT_ARTICLES);
    elided.put("it", new CharArraySet(Arrays.asList("c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl",
        "agl", "dagl", "degl", "negl", "sugl", "un", "m", "t", "s", "v", "d"), true)); // ItalianAnalyzer's, which are private
    elided.put("ga", new CharArraySet(Arrays.asList("d", "m", "b"), true)); // IrishAnalyzer's

    Map<String, String> texts = new HashMap<>(); // no text has a quotation mark or a backslash
    var pair = java.util.regex.Pattern.compile("\"(\\w\\w)\": \"([^\"]*)\"").matcher(Files.readString(Path.of(args[0])));
    while (pair.find()) texts.put(pair.group(1), pair.group(2));
    for (var x : stemmers.entrySet()) {
      String code = x.getKey();
      var tokenizer = new StandardTokenizer();
      tokenizer.setReader(new java.io.StringReader(texts.get(code)));
      TokenStream terms = tokenizer;
      if (elided.containsKey(code)) terms = new ElisionFilter(terms, elided.get(code));
      if (code.equals("tr")) terms = new TurkishLowerCaseFilter(new ApostropheFilter(terms));
      else terms = new LowerCaseFilter(terms);
      terms = new SnowballFilter(new StopFilter(terms, stop.get(code)), x.getValue());
      var term = terms.addAttribute(CharTermAttribute.class);
      terms.reset();
      List<String> all = new ArrayList<>();
      while (terms.incrementToken()) all.add(term.toString());
      System.out.println(code + " " + String.join(" ", all));
    }
    for (String code : List.of("zh", "ja", "ko")) {
      var tokenizer = new StandardTokenizer();
      tokenizer.setReader(new java.io.StringReader(texts.get(code)));
      int scripts = CJKBigramFilter.HAN | CJKBigramFilter.HIRAGANA | CJKBigramFilter.KATAKANA | CJKBigramFilter.HANGUL;
      TokenStream terms = new LowerCaseFilter(new CJKWidthFilter(tokenizer));
      terms = new StopFilter(new CJKBigramFilter(terms, scripts, true), CJKAnalyzer.getDefaultStopSet());
      var term = terms.addAttribute(CharTermAttribute.class);
      terms.reset();
      List<String> all = new ArrayList<>();
      while (terms.incrementToken()) all.add(term.toString());
      System.out.println(code + " " + String.join(" ", all));
    }
  }

  static void add(Map<String, String> stemmers, Map<String, CharArraySet> stop, String code, String stemmer, CharArraySet words) {
    stemmers.put(code, stemmer);
    stop.put(code, words);
  }
}
