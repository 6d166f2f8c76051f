// Plans, mixed precision and the report, through the command itself.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/image.h"
#include "tools/tool_runner.h"

namespace lq::test {
namespace {

using nlohmann::json;

class QuantizeReport : public ToolsTest {
 protected:
  Outcome quantize(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"--calib", kCalib, "--preprocess", "raw", kMnist};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return succeeds("quantize", arguments);
  }
  json parsed(const std::string& name) const { return json::parse(read_text(path(name)), nullptr, false); }
};

TEST_F(QuantizeReport, APlanReadBackGivesTheSameBytes) {
  quantize({"-o", "a.lqm", "--save-plan", "a.json", "--method", "minmax", "--skip", "Times212", "--activation",
            "asymmetric"});
  quantize({"-o", "b.lqm", "--plan", "a.json", "--save-plan", "b.json", "--threads", "1"});
  EXPECT_EQ(read_text(path("a.lqm")), read_text(path("b.lqm")));
  EXPECT_EQ(read_text(path("a.json")), read_text(path("b.json")));
  EXPECT_EQ(line_with(succeeds("lq-inspect", {"b.lqm"}).out, "options"),
            line_with(succeeds("lq-inspect", {"a.lqm"}).out, "options"));
}

TEST_F(QuantizeReport, AnEditedPlanIsFollowed) {
  quantize({"--save-plan", "p.json"});
  json plan = parsed("p.json");
  ASSERT_EQ(plan["format"], "libquant-plan");
  for (json& node : plan["nodes"]) {
    if (node["operator"] == "Conv") node["precision"] = "float";
  }
  write_text(path("p.json"), plan.dump());
  const Outcome o = quantize({"--plan", "p.json"});
  EXPECT_NE(o.out.find("Conv: asked for (--plan)"), std::string::npos) << o.out;
  EXPECT_LT(number_after(o.out, "int8_mac_share"), 0.1);
}

TEST_F(QuantizeReport, PlanMistakesAndConflictsAreRefused) {
  quantize({"--save-plan", "p.json", "-o", "m.lqm"});
  const auto refuse = [&](const std::vector<std::string>& more, const std::vector<std::string>& wanted) {
    std::vector<std::string> arguments = {"--calib", kCalib, "--preprocess", "raw", kMnist};
    arguments.insert(arguments.end(), more.begin(), more.end());
    fails("quantize", arguments, wanted);
  };
  const std::pair<const char*, const char*> decided[] = {
      {"--method", "kl"}, {"--activation", "auto"},   {"--target", "any"}, {"--weights", "per-channel"},
      {"--skip", "x"},    {"--precision", "x=float"}, {"--max-drop", "1"}, {"--max-samples", "3"}};
  for (const auto& [option, value] : decided) refuse({"--plan", "p.json", option, value}, {"--plan", option});
  refuse({"--plan", "none.json"}, {"none.json"});
  refuse({"--plan", "p.json", "--save-plan", "p.json"}, {"--save-plan", "would overwrite p.json"});
  json plan = parsed("p.json");
  plan["nodes"][0]["precision"] = "int4";
  write_text(path("q.json"), plan.dump());
  refuse({"--plan", "q.json"}, {"q.json", "nodes[0]", "int16"});
  refuse({"--precision", "Conv=int4"}, {"--precision", "'int4' is not int8, int16 or float"});
  refuse({"--precision", "Nobody=float"}, {"Nobody", "matches no node"});
  refuse({"--max-drop", "0"}, {"--max-drop", "above 0"});
  refuse({"--validate", "x"}, {"--validate", "--max-drop"});
  refuse({"--max-drop", "1", "--validate", "nowhere"}, {"nowhere"});
}

/// Digits survive int8: nothing goes back. With a target that int8 cannot meet some layers do, and the plan has them.
TEST_F(QuantizeReport, MaxDropGivesBackWhatItMust) {
  const Outcome easy = quantize({"--max-drop", "5", "--validate", kTest, "-o", "easy.lqm"});
  EXPECT_NE(line_with(easy.out, "max-drop 5: top-1 drop in points"), "") << easy.out;
  EXPECT_GE(number_after(easy.out, "int8_mac_share"), 0.99);
  const Outcome hard = quantize({"--max-drop", "0.2", "--method", "percentile:90", "--bias-correction", "off", "--json",
                                 "hard.json", "--save-plan", "hard.plan", "-o", "hard.lqm"});
  const json mixed = parsed("hard.json")["mixed_precision"];
  EXPECT_NE(hard.out.find("one of the 100 validation samples is 1 points"), std::string::npos) << hard.out;
  EXPECT_GT(mixed["drop_before"], 0.2);
  EXPECT_LE(mixed["drop_after"], 0.2);
  EXPECT_NE(hard.out.find("given back to float"), std::string::npos) << hard.out;
  std::set<std::string> kept, planned;
  for (const json& layer : mixed["layers"]) {
    if (layer["kept_float"]) kept.insert(layer["node"]);
  }
  EXPECT_FALSE(kept.empty());
  const json plan = parsed("hard.plan");
  for (const json& node : plan["nodes"]) {
    if (node.value("reason", "").find("--max-drop") != std::string::npos) planned.insert(node["output"]);
  }
  EXPECT_EQ(planned.size(), kept.size());
  quantize({"--plan", "hard.plan", "-o", "again.lqm"});
  EXPECT_EQ(read_text(path("again.lqm")), read_text(path("hard.lqm")));
}

TEST_F(QuantizeReport, TheJsonHoldsWhatTheDocumentSays) {
  quantize({"--json", "r.json"});
  const json j = parsed("r.json");
  EXPECT_EQ(j["format"], "libquant-report");
  EXPECT_EQ(j["version"], 1);
  EXPECT_TRUE(j["mixed_precision"].is_null());
  ASSERT_FALSE(j["tensors"].empty());
  for (const json& t : j["tensors"]) {
    EXPECT_LE(t["observed"][0], t["range"][0].get<double>() + 1e-6);
    EXPECT_GT(t["scale"], 0);
    const json& counts = t["histogram"]["counts"];
    EXPECT_EQ(counts.size(), 256u);
    EXPECT_TRUE(std::any_of(counts.begin(), counts.end(), [](const json& c) { return c > 0; }));
  }
  size_t products = 0;
  for (const json& n : j["nodes"]) {
    if (!n.contains("weight_min")) continue;
    ++products;
    EXPECT_EQ(n["weight_min"].size(), n["weight_max"].size());
    EXPECT_LE(n["weight_min"][0], n["weight_max"][0]);
  }
  EXPECT_EQ(products, 3u);  // mnist: two convolutions and a matrix product
}

std::string chromium() {
  std::string folders = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const std::string file = folders.substr(at, end - at) + "/" + name;
      if (std::filesystem::exists(file)) return file;
    }
    at = end + 1;
  }
  return "";
}

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_F(QuantizeReport, ThePageIsOneFileThatDrawsItselfInABrowser) {
  quantize({"--report", "r.html", "--json", "r.json", "--skip", "Pooling160"});
  const std::string page = read_text(path("r.html"));
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg"));  // a name, not an address
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(page.find(" src="), std::string::npos);
  const std::string browser = chromium();
  if (browser.empty()) GTEST_SKIP() << "chromium is not installed: the report page was not looked at in a browser";
  // --no-sandbox: a container's root has no user namespaces; the page is our own.
  const std::string command = "HOME=" + folder_ + " timeout 100 " + browser +
                              " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr "
                              "--window-size=1100,1600 --user-data-dir=" +
                              path("profile") + " --screenshot=" + path("page.png") + " --dump-dom file://" +
                              path("r.html") + " > " + path("dom.html") + " 2> " + path("log.txt");
  ASSERT_EQ(std::system(command.c_str()), 0) << read_text(path("log.txt"));
  const std::string dom = read_text(path("dom.html")), log = read_text(path("log.txt"));
  EXPECT_EQ(log.find("CONSOLE"), std::string::npos) << log;
  EXPECT_NE(dom.find("data-ready=\"yes\""), std::string::npos) << "the script did not reach its end";
  for (const char* id : {"summary", "findings", "map", "sqnr", "times", "histograms", "weights", "float"})
    EXPECT_NE(dom.find("<section id=\"" + std::string(id) + "\""), std::string::npos) << id;
  const json j = parsed("r.json");
  EXPECT_EQ(count_of(dom, "<figure"), j["tensors"].size() + 3);  // histograms, and weights of three products
  const size_t map = dom.find("class=\"map\"");
  EXPECT_EQ(count_of(dom.substr(map, dom.find("</div>", map) - map), "<span"), j["nodes"].size());
  const auto image = calibration::read_image(path("page.png"), false);
  ASSERT_TRUE(image.ok()) << image.status().message();
  size_t inked = 0;
  for (size_t i = 0; i < image->pixels.size(); i += 3) inked += image->pixels[i] < 200 ? 1 : 0;
  EXPECT_GT(inked, image->pixels.size() / 3 / 200);  // text, bars and curves
}

/// Names from an untrusted model must not become markup.
TEST_F(QuantizeReport, NamesAreTextInThePage) {
  const std::string evil = path("</script><script>alert(1)</script>");
  std::filesystem::create_directories(std::filesystem::path(evil).parent_path());
  std::filesystem::copy_file(kMnist, evil + ".onnx");
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--report", "r.html", "-o", "m.lqm", evil + ".onnx"});
  EXPECT_EQ(count_of(read_text(path("r.html")), "<script"), 2u);
}

}  // namespace
}  // namespace lq::test
