import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.lucene.analysis.Analyzer;
import org.opensearch.analysis.common.CommonAnalysisModulePlugin;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.PreBuiltAnalyzerProviderFactory;
import org.opensearch.index.analysis.PreConfiguredTokenizer;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;

/** The analysers without that of Thai, which needs a dictionary that this Java runtime lacks. */
public final class Analysis extends CommonAnalysisModulePlugin {
  private static final String LEFT_OUT = "thai";

  @Override
  public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
    var analyzers = new TreeMap<>(super.getAnalyzers());
    analyzers.remove(LEFT_OUT);
    return analyzers;
  }

  @Override
  public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
    var tokenizers = new TreeMap<>(super.getTokenizers());
    tokenizers.remove(LEFT_OUT);
    return tokenizers;
  }

  @Override
  public List<PreBuiltAnalyzerProviderFactory> getPreBuiltAnalyzerProviderFactories() {
    var factories = new ArrayList<>(super.getPreBuiltAnalyzerProviderFactories());
    factories.removeIf(factory -> factory.getName().equals(LEFT_OUT));
    return factories;
  }

  @Override
  public List<PreConfiguredTokenizer> getPreConfiguredTokenizers() {
    var tokenizers = new ArrayList<>(super.getPreConfiguredTokenizers());
    tokenizers.removeIf(tokenizer -> tokenizer.getName().equals(LEFT_OUT));
    return tokenizers;
  }
}
