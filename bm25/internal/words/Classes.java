import com.ibm.icu.lang.UCharacter;
import com.ibm.icu.lang.UProperty;
import com.ibm.icu.lang.UScript;
import java.util.ArrayList;
import java.util.List;

/**
 * Lists, for every code point, which of the sets that the word rules speak of
 * it belongs to, by Unicode 12.1, as in Lucene 9.12. Run with ICU4J 64.2:
 *
 *   mvn dependency:copy -Dartifact=com.ibm.icu:icu4j:64.2 -DoutputDirectory=.
 *   java -cp icu4j-64.2.jar Classes.java > classes.txt
 */
public class Classes {
  static String sets(int c) {
    List<String> in = new ArrayList<>();
    int wordBreak = UCharacter.getIntPropertyValue(c, UProperty.WORD_BREAK);
    int script = UScript.getScript(c);
    switch (wordBreak) {
      case UCharacter.WordBreak.EXTEND, UCharacter.WordBreak.FORMAT -> in.add("Extend");
      case UCharacter.WordBreak.ZWJ -> { in.add("Extend"); in.add("ZWJ"); }
      case UCharacter.WordBreak.ALETTER -> in.add("Letter");
      case UCharacter.WordBreak.HEBREW_LETTER -> in.add("Hebrew");
      case UCharacter.WordBreak.NUMERIC -> in.add("Numeric");
      case UCharacter.WordBreak.KATAKANA -> in.add("Katakana");
      case UCharacter.WordBreak.MIDLETTER -> in.add("MidLetter");
      case UCharacter.WordBreak.MIDNUM -> in.add("MidNum");
      case UCharacter.WordBreak.MIDNUMLET -> in.add("MidNumLet");
      case UCharacter.WordBreak.SINGLE_QUOTE -> in.add("SingleQuote");
      case UCharacter.WordBreak.DOUBLE_QUOTE -> in.add("DoubleQuote");
      case UCharacter.WordBreak.EXTENDNUMLET -> in.add("ExtendNumLet");
      case UCharacter.WordBreak.REGIONAL_INDICATOR -> in.add("Regional");
      default -> { }
    }
    if (c >= 0xFF00 && c <= 0xFFEF && UCharacter.isDigit(c) && !in.contains("Numeric")) in.add("Numeric");
    if (script == UScript.HAN) in.add("Han");
    if (script == UScript.HIRAGANA) in.add("Hiragana");
    if (UCharacter.getIntPropertyValue(c, UProperty.LINE_BREAK) == UCharacter.LineBreak.COMPLEX_CONTEXT) in.add("SouthEastAsian");
    boolean keyCapBase = c >= '0' && c <= '9' || c == '#' || c == '*';
    boolean modifier = UCharacter.hasBinaryProperty(c, UProperty.EMOJI_MODIFIER);
    boolean accidental = c == 0xA9 || c == 0xAE || c == 0x2122 || c == 0x3030 || c == 0x303D;
    boolean pictographic = UCharacter.hasBinaryProperty(c, UProperty.EXTENDED_PICTOGRAPHIC);
    boolean plainEmoji = UCharacter.hasBinaryProperty(c, UProperty.EMOJI)
        && !keyCapBase && !modifier && !accidental && !in.contains("Regional");
    if (pictographic || plainEmoji) in.add("Emoji");
    if (UCharacter.hasBinaryProperty(c, UProperty.EMOJI_MODIFIER_BASE)) in.add("EmojiBase");
    if (modifier) in.add("EmojiModifier");
    if (keyCapBase) in.add("KeyCapBase");
    if (c == 0x20E3) in.add("KeyCap");
    if (c == 0xFE0E) in.add("TextSelector");
    if (c == 0xFE0F) in.add("EmojiSelector");
    if (c >= 0xE0020 && c <= 0xE007E) in.add("Tag");
    if (c == 0xE007F) in.add("TagEnd");
    return String.join("+", in);
  }

  public static void main(String[] args) {
    int start = 0;
    String current = sets(0);
    for (int c = 1; c <= 0x110000; c++) {
      String next = c == 0x110000 ? null : sets(c);
      if (current.equals(next)) continue;
      if (!current.isEmpty()) System.out.printf("%X %X %s%n", start, c - 1, current);
      start = c;
      current = next;
    }
  }
}
