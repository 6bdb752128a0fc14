import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

/**
 * Writes beside each line of text the terms that Lucene's EnglishAnalyzer makes
 * of it. What is not printable ASCII is written as UTF-16 units, \\uXXXX.
 *
 *   mvn dependency:copy -Dartifact=org.apache.lucene:lucene-core:9.12.1 -DoutputDirectory=.
 *   mvn dependency:copy -Dartifact=org.apache.lucene:lucene-analysis-common:9.12.1 -DoutputDirectory=.
 *   zcat analysis.tsv.gz | cut -f 1 | java -cp '*' Analyse.java | gzip -9n > new.tsv.gz
 */
public class Analyse {
  static String read(String line) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (c == '\\') {
        c = (char) Integer.parseInt(line.substring(i + 2, i + 6), 16);
        i += 5;
      }
      out.append(c);
    }
    return out.toString();
  }

  static String write(String text) {
    StringBuilder out = new StringBuilder();
    for (char c : text.toCharArray()) {
      if (c < 0x20 || c > 0x7e || c == '\\') out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    }
    return out.toString();
  }

  public static void main(String[] args) throws Exception {
    EnglishAnalyzer analyzer = new EnglishAnalyzer();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.print(line);
      out.print('\t');
      try (TokenStream stream = analyzer.tokenStream("text", read(line))) {
        CharTermAttribute term = stream.getAttribute(CharTermAttribute.class);
        stream.reset();
        for (String between = ""; stream.incrementToken(); between = " ") out.print(between + write(term.toString()));
        stream.end();
      }
      out.println();
    }
    out.flush();
  }
}
