import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;

/**
 * The peer of the word index: Lucene with the same analysis and formula, one
 * segment, one thread. Arguments: passages, one a line; questions, one a line;
 * a folder for the index; how many hits. It indexes, and then obeys lines on
 * standard input, answering each with a line of JSON:
 *
 *   index         indexes anew; seconds of the thread's time from text in memory to a synced commit
 *   bytes         the index's size
 *   round N       asks all questions, giving up counting matches after N; seconds of the thread's time
 *   each N        the same; microseconds by the clock of each question
 *   hits          [ordinal, score, …] of each question, in one list
 */
public class LuceneBench {
  final Analyzer analyzer = new EnglishAnalyzer();
  final List<String> passages, questions;
  final Path folder;
  final int k;
  IndexSearcher searcher;

  LuceneBench(String[] args) throws Exception {
    passages = Files.readAllLines(Path.of(args[0]));
    questions = Files.readAllLines(Path.of(args[1]));
    folder = Path.of(args[2]);
    k = Integer.parseInt(args[3]);
  }

  /** Processor time of this thread, in seconds: what other programs take does not count. */
  static double clock() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e9;
  }

  double index() throws Exception {
    if (searcher != null) searcher.getIndexReader().close();
    double begun = clock();
    FieldType type = new FieldType();
    type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
    type.setTokenized(true);
    type.freeze();
    Directory directory = FSDirectory.open(folder);
    IndexWriterConfig config = new IndexWriterConfig(analyzer);
    config.setOpenMode(IndexWriterConfig.OpenMode.CREATE);
    config.setSimilarity(new BM25Similarity(0.9f, 0.4f));
    config.setRAMBufferSizeMB(1024); // one segment without merging, where it fits
    try (IndexWriter writer = new IndexWriter(directory, config)) {
      for (String passage : passages) {
        Document document = new Document();
        document.add(new Field("text", passage, type));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
      writer.commit();
    }
    double seconds = clock() - begun;
    searcher = new IndexSearcher(DirectoryReader.open(directory));
    searcher.setSimilarity(new BM25Similarity(0.9f, 0.4f));
    searcher.setQueryCache(null);
    return seconds;
  }

  TopDocs ask(String question, int counted) throws Exception {
    Map<String, Integer> terms = new LinkedHashMap<>();
    try (TokenStream stream = analyzer.tokenStream("text", question)) {
      CharTermAttribute term = stream.getAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) terms.merge(term.toString(), 1, Integer::sum);
      stream.end();
    }
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    terms.forEach((text, count) -> {
      Query term = new TermQuery(new Term("text", text));
      query.add(count == 1 ? term : new BoostQuery(term, count), BooleanClause.Occur.SHOULD);
    });
    return searcher.search(query.build(), new TopScoreDocCollectorManager(k, null, counted));
  }

  public static void main(String[] args) throws Exception {
    LuceneBench bench = new LuceneBench(args);
    IndexSearcher.setMaxClauseCount(1 << 20);
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] wish = line.split(" ");
      switch (wish[0]) {
        case "index" -> out.println(bench.index());
        case "bytes" -> {
          long sum = 0;
          try (Directory directory = FSDirectory.open(bench.folder)) {
            for (String name : directory.listAll()) sum += directory.fileLength(name);
          }
          out.println(sum);
        }
        case "round" -> {
          double begun = clock();
          for (String question : bench.questions) bench.ask(question, Integer.parseInt(wish[1]));
          out.println(clock() - begun);
        }
        case "each" -> {
          List<Double> each = new ArrayList<>();
          for (String question : bench.questions) {
            long begun = System.nanoTime();
            bench.ask(question, Integer.parseInt(wish[1]));
            each.add((System.nanoTime() - begun) / 1000.0);
          }
          out.println(each);
        }
        case "hits" -> {
          List<List<Number>> all = new ArrayList<>();
          for (String question : bench.questions) {
            List<Number> hits = new ArrayList<>();
            for (ScoreDoc hit : bench.ask(question, bench.k).scoreDocs) Collections.addAll(hits, hit.doc, hit.score);
            all.add(hits);
          }
          out.println(all);
        }
        default -> throw new IllegalArgumentException(line);
      }
      out.flush();
    }
  }
}
