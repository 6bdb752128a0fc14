import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/**
 * One node of OpenSearch. Its arguments are settings, NAME=VALUE. It runs until it is killed,
 * or with -Donce=true until it has started.
 */
public final class ClusterNode extends Node {
  private ClusterNode(Environment environment, Collection<PluginInfo> plugins) {
    super(environment, plugins, false);
  }

  public static void main(String[] settings) throws Exception {
    Settings.Builder builder = Settings.builder();
    for (String setting : settings) {
      String[] pair = setting.split("=", 2);
      builder.put(pair[0], pair[1]);
    }
    Settings all = builder.build();
    List<PluginInfo> plugins =
        List.of(
            plugin(org.opensearch.transport.Netty4ModulePlugin.class),
            plugin(Analysis.class),
            plugin(org.opensearch.painless.PainlessModulePlugin.class),
            plugin(org.opensearch.index.reindex.ReindexModulePlugin.class),
            plugin(org.opensearch.knn.plugin.KNNPlugin.class));
    new ClusterNode(new Environment(all, Path.of(all.get("path.home"), "config")), plugins).start();
    if (Boolean.getBoolean("once")) {
      System.exit(0);
    }
    Thread.currentThread().join();
  }

  private static PluginInfo plugin(Class<?> type) {
    return new PluginInfo(
        type.getName(), "", "3.5.0", Version.CURRENT, "21", type.getName(), null, List.of(), false);
  }
}
